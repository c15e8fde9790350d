// SipHash 2-4 of columns of 64-bit words, which have no rest of bytes.
typedef unsigned long long u64;
__device__ u64 left(u64 x, int b) { return x << b | x >> (64 - b); }
__device__ void round(u64 &a, u64 &b, u64 &c, u64 &d) {
    a += b, c += d, b = left(b, 13), d = left(d, 16), b ^= a, d ^= c, a = left(a, 32);
    c += b, a += d, b = left(b, 17), d = left(d, 21), b ^= c, d ^= a, c = left(c, 32);
}
extern "C" __global__ void siphash(const u64 *m, u64 *out, u64 k0, u64 k1, int words, int n) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= n) return;
    u64 a = k0 ^ 0x736f6d6570736575ull, b = k1 ^ 0x646f72616e646f6dull, c = k0 ^ 0x6c7967656e657261ull, d = k1 ^ 0x7465646279746573ull;
    for (int i = 0; i <= words; i++) {
        u64 w = i < words ? m[i * n + g] : (u64)words << 59;
        d ^= w, round(a, b, c, d), round(a, b, c, d), a ^= w;
    }
    c ^= 255;
    for (int i = 0; i < 4; i++) round(a, b, c, d);
    out[g] = a ^ b ^ c ^ d;
}
