// Single precision product, 32x32 tiles in shared memory, 4x4 results a thread.
extern "C" __global__ void sgemm_tiled(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float sa[8][32], sb[8][32];
    int tx = threadIdx.x & 7, ty = threadIdx.x >> 3, row = blockIdx.y * 32, col = blockIdx.x * 32;
    float sum[4][4] = {};
    for (int at = 0; at < k; at += 8) {
        for (int e = threadIdx.x; e < 256; e += 64) {
            sa[e & 7][e >> 3] = a[(row + (e >> 3)) * k + at + (e & 7)];
            sb[e >> 5][e & 31] = b[(at + (e >> 5)) * n + col + (e & 31)];
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 8; s++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) { x[i] = sa[s][ty * 4 + i]; y[i] = sb[s][tx * 4 + i]; }
            for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + col + tx * 4 + j] = sum[i][j];
}
