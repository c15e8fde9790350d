// A product of doubles: four by four results a thread.
extern "C" __global__ void dgemm_blocked(const double *a, const double *b, double *c, int n) {
    __shared__ double as[8][32], bs[8][32];
    int t = threadIdx.x, tx = t % 8, ty = t / 8, row = blockIdx.y * 32, column = blockIdx.x * 32;
    double acc[4][4] = {};
    for (int k = 0; k < n; k += 8) {
        for (int i = t; i < 256; i += 64) {
            as[i % 8][i / 8] = a[(row + i / 8) * n + k + i % 8];
            bs[i / 32][i % 32] = b[(k + i / 32) * n + column + i % 32];
        }
        __syncthreads();
        for (int kk = 0; kk < 8; kk++) {
            double x[4], y[4];
            for (int i = 0; i < 4; i++) x[i] = as[kk][ty * 4 + i], y[i] = bs[kk][tx * 4 + i];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + column + tx * 4 + j] = acc[i][j];
}
