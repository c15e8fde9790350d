// PRESENT, 31 rounds of 64 bits with keys of 80 bits that are made on the way; two boxes of four bits are one of a byte.
extern "C" __global__ void present_rounds(const unsigned long long *text, const unsigned long long *keys, const unsigned char *box, unsigned long long *out, int n) {
    __shared__ unsigned char s[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) s[k] = box[k >> 4] << 4 | box[k & 15];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long state = text[i], high = keys[2 * i], low = keys[2 * i + 1];
    for (unsigned round = 1; round < 32; round++) {
        state ^= high;
        unsigned long long y = 0;
#pragma unroll
        for (int b = 0; b < 8; b++) y |= (unsigned long long)s[state >> 8 * b & 255] << 8 * b;
        unsigned long long z = 0;
#pragma unroll
        for (int b = 0; b < 63; b++) z |= (y >> b & 1) << (b * 16 % 63);
        state = z | (y & 1ull << 63);
        // The key is high (64 bits) and low (16 bits), turned to the left by 61.
        unsigned long long t = high;
        high = t << 61 | low << 45 | t >> 19;
        low = t >> 3 & 0xffff;
        high = (high & 0x0fffffffffffffffull) | (unsigned long long)(s[high >> 60] & 15) << 60;
        low ^= (round & 1) << 15;
        high ^= round >> 1;
    }
    out[i] = state ^ high;
}
