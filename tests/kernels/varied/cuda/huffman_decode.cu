// Decodes a stream of bits a thread by a table of 256 codes: a symbol and a length for each next byte.
extern "C" __global__ void huffman_decode(const unsigned *words, const int *start, const unsigned short *table, unsigned char *out, int symbols, int n) {
    __shared__ unsigned short codes[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) codes[k] = table[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned *p = words + start[i];
    unsigned long long bits = (unsigned long long)p[0] << 32 | p[1];
    int left = 64;
    p += 2;
    for (int k = 0; k < symbols; k++) {
        unsigned short c = codes[bits >> 56];
        int length = c >> 8;
        out[i * symbols + k] = c & 255;
        bits <<= length;
        left -= length;
        if (left <= 32) {
            bits |= (unsigned long long)*p++ << (32 - left);
            left += 32;
        }
    }
}
