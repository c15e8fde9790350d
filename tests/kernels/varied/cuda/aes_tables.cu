// AES of 128 bits in counter mode: ten rounds by one table of 256 words in shared memory, turned by bytes.
__device__ unsigned column(const unsigned *t, unsigned a, unsigned b, unsigned c, unsigned d, unsigned k) {
    return t[a >> 24] ^ __byte_perm(t[b >> 16 & 255], 0, 0x0321) ^ __byte_perm(t[c >> 8 & 255], 0, 0x1032) ^ __byte_perm(t[d & 255], 0, 0x2103) ^ k;
}
__device__ unsigned last(const unsigned *t, unsigned a, unsigned b, unsigned c, unsigned d, unsigned k) {
    return ((t[a >> 24] & 0xff00) << 16 ^ (t[b >> 16 & 255] & 0xff00) << 8 ^ (t[c >> 8 & 255] & 0xff00) ^ (t[d & 255] & 0xff00) >> 8) ^ k;
}
extern "C" __global__ void aes_tables(const unsigned *table, const unsigned *keys, const uint4 *in, uint4 *out, unsigned nonce, int n) {
    __shared__ unsigned t[256], k[44];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) t[i] = table[i];
    if (threadIdx.x < 44) k[threadIdx.x] = keys[threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned a = nonce ^ k[0], b = k[1], c = k[2], d = i ^ k[3];
#pragma unroll
        for (int r = 1; r < 10; r++) {
            unsigned e = column(t, a, b, c, d, k[4 * r]), f = column(t, b, c, d, a, k[4 * r + 1]);
            unsigned g = column(t, c, d, a, b, k[4 * r + 2]), h = column(t, d, a, b, c, k[4 * r + 3]);
            a = e, b = f, c = g, d = h;
        }
        uint4 v = in[i];
        out[i] = {v.x ^ last(t, a, b, c, d, k[40]), v.y ^ last(t, b, c, d, a, k[41]), v.z ^ last(t, c, d, a, b, k[42]), v.w ^ last(t, d, a, b, c, k[43])};
    }
}
