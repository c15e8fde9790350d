// Base64 of triples of bytes.
extern "C" __global__ void base64(const unsigned char *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2], r = 0;
    for (int k = 0; k < 4; k++) {
        unsigned c = v >> 6 * k & 63;
        unsigned s = c < 26 ? 'A' + c : c < 52 ? 'a' + c - 26 : c < 62 ? '0' + c - 52 : c == 62 ? '+' : '/';
        r = r << 8 | s;
    }
    out[i] = r;
}
