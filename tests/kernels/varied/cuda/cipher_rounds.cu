// Rounds of a block cipher with one table of words in shared memory, rotated for each byte.
#define LEFT(v, n) __funnelshift_l(v, v, n)
__device__ unsigned mix(const unsigned *t, unsigned a, unsigned b, unsigned c, unsigned d, unsigned key) {
    return t[a & 255] ^ LEFT(t[b >> 8 & 255], 8) ^ LEFT(t[c >> 16 & 255], 16) ^ LEFT(t[d >> 24], 24) ^ key;
}
extern "C" __global__ void cipher_rounds(const unsigned *table, const unsigned *key, const uint4 *in, uint4 *out, int rounds) {
    __shared__ unsigned t[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) t[i] = table[i];
    __syncthreads();
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 s = in[g];
    for (int r = 0; r < rounds; r++)
        s = make_uint4(mix(t, s.x, s.y, s.z, s.w, key[4 * r]), mix(t, s.y, s.z, s.w, s.x, key[4 * r + 1]),
                       mix(t, s.z, s.w, s.x, s.y, key[4 * r + 2]), mix(t, s.w, s.x, s.y, s.z, key[4 * r + 3]));
    out[g] = s;
}
