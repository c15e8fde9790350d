// A step of the game of life, 32 cells in a word.
extern "C" __global__ void life_bits(const unsigned *in, unsigned *out, int words, int rows) {
    int x = threadIdx.x, y = blockIdx.x;
    unsigned s0 = 0, s1 = 0, s2 = 0, cell = in[y * words + x];
    for (int dy = -1; dy <= 1; dy++) {
        const unsigned *row = in + (y + dy + rows) % rows * words;
        unsigned m = row[x], l = row[(x + words - 1) % words], r = row[(x + 1) % words];
        unsigned side[3] = {m << 1 | l >> 31, dy ? m : 0, m >> 1 | r << 31};
        for (int k = 0; k < 3; k++) {
            unsigned c0 = s0 & side[k];
            s0 ^= side[k];
            unsigned c1 = s1 & c0;
            s1 ^= c0;
            s2 |= c1;
        }
    }
    out[y * words + x] = ~s2 & s1 & (s0 | cell);
}
