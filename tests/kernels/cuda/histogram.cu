#ifdef __CUDACC__
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&s[in[i] >> 2], 1u);
    __syncthreads();
    if (threadIdx.x < 64 && s[threadIdx.x]) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
#else
#include "case.h"
int main() {
    Lcg g(6); int n = 1500;
    std::vector<uint8_t> x(n); std::vector<uint32_t> w(64);
    for (auto &v : x) { v = (g.next() & g.next()) & 255; w[v >> 2]++; }
    Case c("histogram", 2, 128); c.input(x); c.output(w); c.scalar(n); c.done();
}
#endif
