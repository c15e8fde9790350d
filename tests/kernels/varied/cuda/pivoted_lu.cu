// Solutions of 6 by 6 systems in double precision, elimination with the largest pivot of each column, a thread a system.
extern "C" __global__ void pivoted_lu(const double *matrix, const double *right, double *out, int n) {
    const int size = 6;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a[size][size + 1];
#pragma unroll
    for (int r = 0; r < size; r++) {
#pragma unroll
        for (int c = 0; c < size; c++) a[r][c] = matrix[(r * size + c) * n + i];
        a[r][size] = right[r * n + i];
    }
#pragma unroll
    for (int k = 0; k < size; k++) {
#pragma unroll
        for (int r = k + 1; r < size; r++) {
            bool swap = fabs(a[r][k]) > fabs(a[k][k]);
#pragma unroll
            for (int c = k; c <= size; c++) {
                double x = a[k][c], y = a[r][c];
                a[k][c] = swap ? y : x;
                a[r][c] = swap ? x : y;
            }
        }
        double inverse = 1.0 / a[k][k];
#pragma unroll
        for (int r = k + 1; r < size; r++) {
            double f = a[r][k] * inverse;
#pragma unroll
            for (int c = k + 1; c <= size; c++) a[r][c] -= f * a[k][c];
        }
    }
#pragma unroll
    for (int k = size - 1; k >= 0; k--) {
        double s = a[k][size];
#pragma unroll
        for (int c = k + 1; c < size; c++) s -= a[k][c] * a[c][size];
        a[k][size] = s / a[k][k];
    }
#pragma unroll
    for (int k = 0; k < size; k++) out[k * n + i] = a[k][size];
}
