// QR by Givens rotations of 5x5 matrices, a thread a matrix: the triangle and the right-hand side turned with it, solved from the bottom.
extern "C" __global__ void givens_qr(const float *a, const float *b, float *triangle, float *x, int n) {
    const int N = 5;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    float r[N][N], y[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int j = 0; j < N; j++) r[i][j] = a[(i * N + j) * n + t];
        y[i] = b[i * n + t];
    }
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = N - 1; i > j; i--) {
            float p = r[i - 1][j], q = r[i][j];
            float h = sqrtf(p * p + q * q);
            float c = h > 0 ? p / h : 1.0f, s = h > 0 ? q / h : 0.0f;
#pragma unroll
            for (int k = j; k < N; k++) {
                float u = r[i - 1][k], v = r[i][k];
                r[i - 1][k] = c * u + s * v;
                r[i][k] = c * v - s * u;
            }
            float u = y[i - 1], v = y[i];
            y[i - 1] = c * u + s * v;
            y[i] = c * v - s * u;
        }
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        float s = y[i];
#pragma unroll
        for (int k = i + 1; k < N; k++) s -= r[i][k] * y[k];
        y[i] = s / r[i][i];
        x[i * n + t] = y[i];
    }
    int at = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int k = i; k < N; k++) triangle[at++ * n + t] = r[i][k];
}
