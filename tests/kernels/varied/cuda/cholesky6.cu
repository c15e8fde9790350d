// The Cholesky factor of a matrix of 6x6 doubles, one a thread.
extern "C" __global__ void cholesky6(const double *in, double *out, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    double l[6][6];
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int j = 0; j <= i; j++) {
            double s = in[(i * 6 + j) * count + t];
#pragma unroll
            for (int k = 0; k < j; k++) s -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(s) : s / l[j][j];
            out[(i * 6 + j) * count + t] = l[i][j];
        }
}
