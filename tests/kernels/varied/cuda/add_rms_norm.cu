// Adds a residual in half precision, stores the sum, and divides it by the root of its mean square.
#include <cuda_fp16.h>
extern "C" __global__ void add_rms_norm(__half2 *x, __half2 *residual, const __half2 *weight, int n, float eps) {
    __shared__ float part[32];
    __shared__ float total;
    __half2 *a = x + blockIdx.x * n, *b = residual + blockIdx.x * n;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        __half2 v = __hadd2(a[i], b[i]);
        b[i] = v;
        float2 f = __half22float2(v);
        s += f.x * f.x + f.y * f.y;
    }
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
        if (threadIdx.x == 0) total = rsqrtf(s / (2 * n) + eps);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float2 f = __half22float2(b[i]), w = __half22float2(weight[i]);
        a[i] = __floats2half2_rn(f.x * total * w.x, f.y * total * w.y);
    }
}
