// Values of a cubic spline: the interval by bisection, then a polynomial in double precision.
extern "C" __global__ void spline(const double *knot, const double4 *c, const double *x, double *y, int knots, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double v = x[i];
        int low = 0, high = knots - 1;
        while (high - low > 1) {
            int mid = (low + high) / 2;
            if (knot[mid] <= v) low = mid; else high = mid;
        }
        double t = v - knot[low];
        double4 p = c[low];
        y[i] = p.x + t * (p.y + t * (p.z + t * p.w));
    }
}
