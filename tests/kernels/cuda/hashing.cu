#ifdef __CUDACC__
#define HD __device__
#else
#define HD
#include "case.h"
#endif
HD inline unsigned rot(unsigned x, int r) { return (x << r) | (x >> (32 - r)); }
HD inline unsigned murmur(const unsigned *p, int n, unsigned h) {
    for (int i = 0; i < n; i++) {
        unsigned k = p[i] * 0xcc9e2d51u;
        k = rot(k, 15) * 0x1b873593u;
        h = rot(h ^ k, 13) * 5 + 0xe6546b64u;
    }
    h ^= n * 4;
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    return h;
}
HD inline unsigned long long fnv(const unsigned *p, int n) {
    unsigned long long h = 14695981039346656037ull;
    for (int i = 0; i < n * 4; i++) { h ^= (p[i >> 2] >> (8 * (i & 3))) & 255; h *= 1099511628211ull; }
    return h;
}
#ifdef __CUDACC__
extern "C" __global__ void hashing(const unsigned *in, unsigned *m, unsigned long long *f, int len) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    m[i] = murmur(in + i * len, len, i);
    f[i] = fnv(in + i * len, len);
}
#else
int main() {
    Lcg g(9); int n = 64, len = 5;
    std::vector<uint32_t> x(n * len), m(n); std::vector<uint64_t> f(n);
    for (auto &v : x) v = g.next() * 2 + (g.next() & 1);
    for (int i = 0; i < n; i++) { m[i] = murmur(&x[i * len], len, i); f[i] = fnv(&x[i * len], len); }
    Case c("hashing", 2, 32); c.input(x); c.output(m); c.output(f); c.scalar(len); c.done();
}
#endif
