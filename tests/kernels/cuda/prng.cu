#ifdef __CUDACC__
#define HD __device__
#else
#define HD
#include "case.h"
#endif
HD inline unsigned long long splitmix(unsigned long long &s) {
    unsigned long long z = (s += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
HD inline unsigned xorshift(unsigned x) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; return x; }
HD inline void philox(unsigned *c, unsigned k0, unsigned k1) {
    for (int r = 0; r < 10; r++) {
        unsigned long long a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
        unsigned n0 = (unsigned)(b >> 32) ^ c[1] ^ k0, n2 = (unsigned)(a >> 32) ^ c[3] ^ k1;
        c[1] = (unsigned)b; c[3] = (unsigned)a; c[0] = n0; c[2] = n2;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
}
#ifdef __CUDACC__
extern "C" __global__ void prng(unsigned long long *a, unsigned *b, unsigned *p, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long s = seed + i;
    for (int k = 0; k < 3; k++) a[i] = splitmix(s);
    unsigned x = seed + i + 1;
    for (int k = 0; k < 7; k++) x = xorshift(x);
    b[i] = x;
    unsigned c[4] = {(unsigned)i, seed, 7, 9};
    philox(c, seed, i);
    for (int k = 0; k < 4; k++) p[4 * i + k] = c[k];
}
#else
int main() {
    int n = 64; uint32_t seed = 12345;
    std::vector<uint64_t> a(n); std::vector<uint32_t> b(n), p(4 * n);
    for (int i = 0; i < n; i++) {
        unsigned long long s = seed + i, v = 0; for (int k = 0; k < 3; k++) v = splitmix(s); a[i] = v;
        unsigned x = seed + i + 1; for (int k = 0; k < 7; k++) x = xorshift(x); b[i] = x;
        unsigned c[4] = {(unsigned)i, seed, 7, 9}; philox(c, seed, i); for (int k = 0; k < 4; k++) p[4 * i + k] = c[k];
    }
    Case c("prng", 2, 32); c.output(a); c.output(b); c.output(p); c.scalar(seed); c.done();
}
#endif
