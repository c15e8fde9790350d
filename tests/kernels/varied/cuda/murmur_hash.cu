// MurmurHash3, 128 bits, of texts of different lengths.
__device__ unsigned long long turn(unsigned long long x, int r) { return x << r | x >> (64 - r); }
__device__ unsigned long long mix(unsigned long long k) {
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdull;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ull;
    return k ^ k >> 33;
}
extern "C" __global__ void murmur_hash(const unsigned char *data, const int *start, unsigned long long *out, int n, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned long long c1 = 0x87c37b91114253d5ull, c2 = 0x4cf5ad432745937full;
    const unsigned char *p = data + start[i];
    int length = start[i + 1] - start[i];
    unsigned long long h1 = seed, h2 = seed;
    for (int b = 0; b < length / 16; b++) {
        unsigned long long k1 = 0, k2 = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            k1 |= (unsigned long long)p[16 * b + j] << 8 * j;
            k2 |= (unsigned long long)p[16 * b + 8 + j] << 8 * j;
        }
        h1 ^= turn(k1 * c1, 31) * c2;
        h1 = (turn(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= turn(k2 * c2, 33) * c1;
        h2 = (turn(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    const unsigned char *tail = p + length / 16 * 16;
    unsigned long long k1 = 0, k2 = 0;
    switch (length & 15) {
        case 15: k2 ^= (unsigned long long)tail[14] << 48;
        case 14: k2 ^= (unsigned long long)tail[13] << 40;
        case 13: k2 ^= (unsigned long long)tail[12] << 32;
        case 12: k2 ^= (unsigned long long)tail[11] << 24;
        case 11: k2 ^= (unsigned long long)tail[10] << 16;
        case 10: k2 ^= (unsigned long long)tail[9] << 8;
        case 9: k2 ^= tail[8]; h2 ^= turn(k2 * c2, 33) * c1;
        case 8: k1 ^= (unsigned long long)tail[7] << 56;
        case 7: k1 ^= (unsigned long long)tail[6] << 48;
        case 6: k1 ^= (unsigned long long)tail[5] << 40;
        case 5: k1 ^= (unsigned long long)tail[4] << 32;
        case 4: k1 ^= (unsigned long long)tail[3] << 24;
        case 3: k1 ^= (unsigned long long)tail[2] << 16;
        case 2: k1 ^= (unsigned long long)tail[1] << 8;
        case 1: k1 ^= tail[0]; h1 ^= turn(k1 * c1, 31) * c2;
    }
    h1 ^= length;
    h2 ^= length;
    h1 += h2;
    h2 += h1;
    h1 = mix(h1);
    h2 = mix(h2);
    h1 += h2;
    out[2 * i] = h1;
    out[2 * i + 1] = h2 + h1;
}
