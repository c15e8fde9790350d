// SHA-1 of one block of 16 words a thread; clang leaves the loop over its 80 rounds, and the array of words in local memory.
#include "nvptx.h"
static DEVICE u32 left(u32 x, int k) { return x << k | x >> (32 - k); }
GLOBAL void sha1_words(const u32 *in, u32 *out, int n) {
    int at = INDEX;
    if (at >= n) return;
    u32 w[16];
    for (int i = 0; i < 16; i++) w[i] = in[i * n + at];
    u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
    for (int i = 0; i < 80; i++) {
        u32 f, k;
        if (i >= 16) w[i & 15] = left(w[i + 13 & 15] ^ w[i + 8 & 15] ^ w[i + 2 & 15] ^ w[i & 15], 1);
        if (i < 20) f = b & c | ~b & d, k = 0x5a827999;
        else if (i < 40) f = b ^ c ^ d, k = 0x6ed9eba1;
        else if (i < 60) f = b & c | b & d | c & d, k = 0x8f1bbcdc;
        else f = b ^ c ^ d, k = 0xca62c1d6;
        u32 t = left(a, 5) + f + e + k + w[i & 15];
        e = d, d = c, c = left(b, 30), b = a, a = t;
    }
    out[at] = a, out[n + at] = b, out[2 * n + at] = c, out[3 * n + at] = d, out[4 * n + at] = e;
}
