// Rows divided by their root mean square; halves in, halves out.
#include <cuda_fp16.h>
extern "C" __global__ void rms_norm(const __half2 *x, const __half2 *w, __half2 *y, int pairs, float eps) {
    __shared__ float part[4];
    int t = threadIdx.x, row = blockIdx.x;
    float s = 0;
    for (int k = t; k < pairs; k += 128) {
        float2 v = __half22float2(x[row * pairs + k]);
        s += v.x * v.x + v.y * v.y;
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if ((t & 31) == 0) part[t >> 5] = s;
    __syncthreads();
    float r = rsqrtf((part[0] + part[1] + part[2] + part[3]) / (2 * pairs) + eps);
    for (int k = t; k < pairs; k += 128) {
        float2 v = __half22float2(x[row * pairs + k]), g = __half22float2(w[k]);
        y[row * pairs + k] = __floats2half2_rn(v.x * r * g.x, v.y * r * g.y);
    }
}
