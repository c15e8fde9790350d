// Matrix of nibbles in groups with a scale and a zero each, by a vector of halves; a warp a row.
#include <cuda_fp16.h>
__device__ __half2 pair(unsigned q) {
    unsigned v;
    asm("lop3.b32 %0, %1, 0x000f000f, 0x64006400, 0xea;" : "=r"(v) : "r"(q));
    return *(__half2 *)&v;
}
extern "C" __global__ void nibble_gemv_half(const uint4 *w, const __half *scale, const __half *zero, const __half2 *x, float *y, int words) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < words; k += 32) {
        uint4 q = w[row * words + k];
        __half2 s = __half2half2(scale[row * words + k]), z = __half2half2(zero[row * words + k]);
        const __half2 *v = x + k * 16;
        unsigned part[4] = {q.x, q.y, q.z, q.w};
        __half2 acc = __float2half2_rn(0);
        for (int j = 0; j < 4; j++)
            for (int b = 0; b < 4; b++)
                acc = __hfma2(__hsub2(pair(part[j] >> 4 * b), z), v[4 * j + b], acc);
        float2 t = __half22float2(__hmul2(acc, s));
        sum += t.x + t.y;
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
