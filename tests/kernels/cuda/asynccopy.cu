#ifdef __CUDACC__
#include <cuda_pipeline.h>
extern "C" __global__ void asynccopy(const float4 *in, float *out) {
    __shared__ float4 s[2][32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &in[t], 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][t], &in[32 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 a = s[0][31 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    float4 b = s[1][t ^ 1];
    out[t] = a.x + b.y * 2 + a.z * 3 + b.w * 4;
}
#else
#include "case.h"
int main() {
    Lcg g(22); std::vector<float> x(256), w(32);
    for (auto &v : x) v = (int)(g.next() % 50);
    for (int t = 0; t < 32; t++) { float *a = &x[4 * (31 - t)], *b = &x[4 * (32 + (t ^ 1))]; w[t] = a[0] + b[1] * 2 + a[2] * 3 + b[3] * 4; }
    Case c("asynccopy", 1, 32); c.input(x); c.output(w); c.done();
}
#endif
