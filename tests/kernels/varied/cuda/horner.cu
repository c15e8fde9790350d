// A polynomial of doubles at many places.
extern "C" __global__ void horner(const double *c, const double *x, double *y, int degree, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double v = x[i], r = c[degree];
        for (int k = degree - 1; k >= 0; k--) r = r * v + c[k];
        y[i] = r;
    }
}
