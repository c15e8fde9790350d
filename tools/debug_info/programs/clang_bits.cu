#include "cuda_like.h"
typedef unsigned char u8; typedef unsigned long long u64;
DEV inline unsigned rotl(unsigned x, int r) { return x << r | x >> (32 - r); }
DEV void round_(unsigned &a, unsigned &b, unsigned &c, unsigned &d) { a += b; d ^= a; d = rotl(d, 16); c += d; b ^= c; b = rotl(b, 12); a += b; d ^= a; d = rotl(d, 8); c += d; b ^= c; b = rotl(b, 7); }
GLOBAL void k_chacha(const unsigned *key, unsigned *out)
{
    unsigned x[16];
    for (int i = 0; i < 16; i++) x[i] = key[i];
    x[12] += tid();
    for (int i = 0; i < 10; i++) { round_(x[0], x[4], x[8], x[12]); round_(x[1], x[5], x[9], x[13]); round_(x[2], x[6], x[10], x[14]); round_(x[3], x[7], x[11], x[15]); round_(x[0], x[5], x[10], x[15]); round_(x[1], x[6], x[11], x[12]); round_(x[2], x[7], x[8], x[13]); round_(x[3], x[4], x[9], x[14]); }
    for (int i = 0; i < 16; i++) out[tid() * 16 + i] = x[i] + key[i];
}
DEV int decode(const u8 *p, u64 *v) { u64 r = 0; int s = 0, n = 0; u8 b; do { b = p[n++]; r |= (u64)(b & 127) << s; s += 7; } while (b & 128 && n < 10); *v = r; return n; }
GLOBAL void k_varint(const u8 *p, u64 *v, int *len, int n)
{
    for (int i = bid() * dim() + tid(); i < n; i += dim()) {
        u64 x; len[i] = decode(p + i * 10, &x);
        switch (x & 7) { case 0: x = __builtin_popcountll(x); break; case 1: x = __builtin_clzll(x | 1); break; case 2: x = __builtin_bswap32(x); break; case 3: x *= x; break; case 5: x /= 10; break; }
        v[i] = x;
    }
}
