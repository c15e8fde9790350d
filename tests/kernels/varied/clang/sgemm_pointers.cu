// A product by tiles of 64 by 64; clang steps pointers of 64 bits through shared memory.
#include "nvptx.h"
SHARED float left_tile[16 * 64], right_tile[16 * 64];
GLOBAL void sgemm_pointers(const float *a, const float *b, float *c, int m, int n, int depth) {
    int t = THREAD, tx = t % 16, ty = t / 16, row = BLOCK_Y * 64, column = BLOCK_X * 64;
    float sum[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] = 0;
    for (int k = 0; k < depth; k += 16) {
        for (int i = t; i < 1024; i += 256) {
            left_tile[i % 16 * 64 + i / 16] = a[(row + i / 16) * depth + k + i % 16];
            right_tile[i] = b[(k + i / 64) * n + column + i % 64];
        }
        __syncthreads();
        for (int q = 0; q < 16; q++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) x[i] = left_tile[q * 64 + ty * 4 + i], y[i] = right_tile[q * 64 + tx * 4 + i];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] = __builtin_fmaf(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + column + tx * 4 + j] = sum[i][j];
}
