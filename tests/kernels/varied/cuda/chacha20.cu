// The ChaCha20 block function; the counter is the number of the thread.
#define QUARTER(a, b, c, d) \
    a += b; d ^= a; d = d << 16 | d >> 16; c += d; b ^= c; b = b << 12 | b >> 20; \
    a += b; d ^= a; d = d << 8 | d >> 24; c += d; b ^= c; b = b << 7 | b >> 25;
extern "C" __global__ void chacha20(const unsigned *key, const unsigned *nonce, unsigned *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0], key[1], key[2], key[3],
                      key[4], key[5], key[6], key[7], t, nonce[0], nonce[1], nonce[2]};
    unsigned x[16];
    for (int k = 0; k < 16; k++) x[k] = s[k];
    for (int round = 0; round < 10; round++) {
        QUARTER(x[0], x[4], x[8], x[12]) QUARTER(x[1], x[5], x[9], x[13])
        QUARTER(x[2], x[6], x[10], x[14]) QUARTER(x[3], x[7], x[11], x[15])
        QUARTER(x[0], x[5], x[10], x[15]) QUARTER(x[1], x[6], x[11], x[12])
        QUARTER(x[2], x[7], x[8], x[13]) QUARTER(x[3], x[4], x[9], x[14])
    }
    for (int k = 0; k < 16; k++) out[t * 16 + k] = x[k] + s[k];
}
