// A matrix of four-bit numbers in groups of 32 with half scales, times a vector; one warp a row.
#include <cuda_fp16.h>
extern "C" __global__ void gemv_nibbles(const uint4 *q, const __half *scale, const float *x, float *y, int groups) {
    int row = blockIdx.x, lane = threadIdx.x;
    float s = 0;
    for (int g = lane; g < groups; g += 32) {
        uint4 w = q[row * groups + g];
        unsigned part[4] = {w.x, w.y, w.z, w.w};
        float t = 0;
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < 8; j++) t += ((int)(part[k] >> (4 * j) & 15) - 8) * x[g * 32 + k * 8 + j];
        s += t * __half2float(scale[row * groups + g]);
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (lane == 0) y[row] = s;
}
