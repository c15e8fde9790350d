// Product of a sparse matrix by rows and a vector, a thread a row.
extern "C" __global__ void csr_scalar(const int *start, const int *column, const double *value, const double *x, double *y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int k = start[r]; k < start[r + 1]; k++) sum += value[k] * x[column[k]];
    y[r] = sum;
}
