#ifdef __CUDACC__
extern "C" __global__ void scan(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned warp_sum[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned v = t < n ? in[t] : 0, x = v;
    for (int d = 1; d < 32; d <<= 1) { unsigned y = __shfl_up_sync(~0u, x, d); if (lane >= d) x += y; }
    if (lane == 31) warp_sum[warp] = x;
    __syncthreads();
    if (warp == 0) {
        unsigned s = lane < 8 ? warp_sum[lane] : 0;
        for (int d = 1; d < 8; d <<= 1) { unsigned y = __shfl_up_sync(~0u, s, d); if (lane >= d) s += y; }
        if (lane < 8) warp_sum[lane] = s;
    }
    __syncthreads();
    if (warp) x += warp_sum[warp - 1];
    if (t < n) out[t] = x - v;
}
#else
#include "case.h"
int main() {
    Lcg g(3); int n = 250;
    std::vector<uint32_t> x(n), w(n); uint32_t s = 0;
    for (int i = 0; i < n; i++) { x[i] = g.next() % 1000; w[i] = s; s += x[i]; }
    Case c("scan", 1, 256); c.input(x); c.output(w); c.scalar(n); c.done();
}
#endif
