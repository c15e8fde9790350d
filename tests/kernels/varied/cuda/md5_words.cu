// The compression of MD5, with the constants from memory.
#define LEFT(x, n) __funnelshift_l(x, x, n)
extern "C" __global__ void md5_words(const unsigned *in, const unsigned *constants, uint4 *out, int n) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= n) return;
    unsigned w[16];
    for (int i = 0; i < 16; i++) w[i] = in[i * n + g];
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    const int r[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
#pragma unroll
    for (int i = 0; i < 64; i++) {
        unsigned f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
        int q = i < 16 ? i : i < 32 ? (5 * i + 1) & 15 : i < 48 ? (3 * i + 5) & 15 : (7 * i) & 15;
        unsigned t = d;
        d = c, c = b;
        b = b + LEFT(a + f + constants[i] + w[q], r[i / 16 * 4 + (i & 3)]);
        a = t;
    }
    out[g] = make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}
