// Softmax of scaled scores in half precision, each row up to its diagonal; a warp a row.
#include <cuda_fp16.h>
extern "C" __global__ void causal_softmax(const __half *score, __half *out, int n, float scale) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    const __half *s = score + (size_t)row * n;
    float v[4], m = -1e30f, sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int c = lane + 32 * k;
        v[k] = c <= row ? __half2float(s[c]) * scale : -1e30f;
        m = fmaxf(m, v[k]);
    }
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
#pragma unroll
    for (int k = 0; k < 4; k++) {
        v[k] = __expf(v[k] - m);
        sum += v[k];
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (lane + 32 * k < n) out[(size_t)row * n + lane + 32 * k] = __float2half(v[k] / sum);
}
