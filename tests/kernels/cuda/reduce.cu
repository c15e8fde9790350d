#ifdef __CUDACC__
extern "C" __global__ void reduce(const int *in, int *out, int n) {
    __shared__ int s[256];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k >= 32; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        int v = s[threadIdx.x];
        for (int k = 16; k; k >>= 1) v += __shfl_down_sync(0xffffffffu, v, k);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}
#else
#include "case.h"
int main() {
    Lcg g(2); int n = 3000;
    std::vector<int32_t> x(n); int32_t sum = 0;
    for (auto &v : x) { v = (int32_t)(g.next() % 20001) - 10000; sum += v; }
    Case c("reduce", 3, 256); c.input(x); c.output(std::vector<int32_t>{sum}); c.scalar(n); c.done();
}
#endif
