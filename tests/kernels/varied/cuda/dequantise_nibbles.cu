// Numbers of four bits with a scale and an offset per group of 32, to half precision.
#include <cuda_fp16.h>
extern "C" __global__ void dequantise_nibbles(const unsigned *q, const float2 *group, __half2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = q[i];
    float2 g = group[i >> 2];
    for (int k = 0; k < 4; k++)
        out[4 * i + k] = __floats2half2_rn((v >> 8 * k & 15) * g.x + g.y, (v >> (8 * k + 4) & 15) * g.x + g.y);
}
