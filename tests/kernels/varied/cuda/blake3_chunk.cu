// BLAKE3: the chaining value of a chunk of 1024 bytes a thread.
__device__ __forceinline__ unsigned rotate(unsigned x, int n) { return __funnelshift_r(x, x, n); }
#define G(a, b, c, d, x, y) \
    v[a] += v[b] + (x); v[d] = rotate(v[d] ^ v[a], 16); v[c] += v[d]; v[b] = rotate(v[b] ^ v[c], 12); \
    v[a] += v[b] + (y); v[d] = rotate(v[d] ^ v[a], 8); v[c] += v[d]; v[b] = rotate(v[b] ^ v[c], 7);
extern "C" __global__ void blake3_chunk(const uint4 *data, uint4 *out, int n, int blocks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned iv[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
    const int order[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
    unsigned cv[8];
    for (int k = 0; k < 8; k++) cv[k] = iv[k];
    for (int b = 0; b < blocks; b++) {
        unsigned m[16], v[16];
        for (int k = 0; k < 4; k++) {
            uint4 q = data[(i * blocks + b) * 4 + k];
            m[4 * k] = q.x; m[4 * k + 1] = q.y; m[4 * k + 2] = q.z; m[4 * k + 3] = q.w;
        }
        for (int k = 0; k < 8; k++) v[k] = cv[k];
        for (int k = 0; k < 4; k++) v[8 + k] = iv[k];
        v[12] = i; v[13] = 0; v[14] = 64; v[15] = (b == 0) | (b == blocks - 1) << 1;
#pragma unroll
        for (int r = 0; r < 7; r++) {
            G(0, 4, 8, 12, m[0], m[1]) G(1, 5, 9, 13, m[2], m[3]) G(2, 6, 10, 14, m[4], m[5]) G(3, 7, 11, 15, m[6], m[7])
            G(0, 5, 10, 15, m[8], m[9]) G(1, 6, 11, 12, m[10], m[11]) G(2, 7, 8, 13, m[12], m[13]) G(3, 4, 9, 14, m[14], m[15])
            unsigned t[16];
            for (int k = 0; k < 16; k++) t[k] = m[order[k]];
            for (int k = 0; k < 16; k++) m[k] = t[k];
        }
        for (int k = 0; k < 8; k++) cv[k] = v[k] ^ v[k + 8];
    }
    out[2 * i] = make_uint4(cv[0], cv[1], cv[2], cv[3]);
    out[2 * i + 1] = make_uint4(cv[4], cv[5], cv[6], cv[7]);
}
