// A sparse matrix in columns of equal length times a vector.
extern "C" __global__ void ell_product(const int *column, const double *value, const double *x, double *y, int rows, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double s = 0;
    for (int k = 0; k < width; k++) {
        int c = column[k * rows + r];
        if (c >= 0) s = fma(value[k * rows + r], x[c], s);
    }
    y[r] = s;
}
