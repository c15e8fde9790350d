#ifdef __CUDACC__
extern "C" __global__ void votes(const int *in, unsigned *out) {
    int t = threadIdx.x, v = in[t];
    unsigned b = __ballot_sync(~0u, v & 1);
    unsigned a = __any_sync(~0u, v > 90) * 2 + __all_sync(~0u, v >= 0);
    unsigned m = __match_any_sync(~0u, v % 5);
    unsigned d = 0;
    if (v & 2) { unsigned act = __activemask(); d = __popc(act) + (__shfl_sync(act, v, __ffs(act) - 1) << 8); }
    out[4 * t] = b; out[4 * t + 1] = a; out[4 * t + 2] = m; out[4 * t + 3] = d;
}
#else
#include "case.h"
int main() {
    Lcg g(19); std::vector<int32_t> x(64); std::vector<uint32_t> w(256);
    for (auto &v : x) v = g.next() % 100;
    for (int t = 0; t < 64; t++) {
        int base = t & 32; unsigned b = 0, any = 0, all = 1, m = 0, act = 0;
        for (int l = 0; l < 32; l++) { int v = x[base + l]; b |= (unsigned)(v & 1) << l; any |= v > 90; all &= v >= 0; m |= (unsigned)(v % 5 == x[t] % 5) << l; if (v & 2) act |= 1u << l; }
        w[4 * t] = b; w[4 * t + 1] = any * 2 + all; w[4 * t + 2] = m;
        w[4 * t + 3] = x[t] & 2 ? __builtin_popcount(act) + ((unsigned)x[base + __builtin_ctz(act)] << 8) : 0;
    }
    Case c("votes", 1, 64); c.input(x); c.output(w); c.done();
}
#endif
