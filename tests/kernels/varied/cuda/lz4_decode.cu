// Blocks in LZ4's format, a thread a block: literals and matches that may overlap themselves; the length written, or -1 for bad input.
extern "C" __global__ void lz4_decode(const unsigned char *packed, const int *start, unsigned char *out, int room, int *length, int blocks) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    const unsigned char *p = packed + start[b], *end = packed + start[b + 1];
    unsigned char *o = out + b * room;
    int at = 0;
    while (p < end) {
        unsigned token = *p++;
        int literals = token >> 4;
        if (literals == 15) {
            unsigned more;
            do {
                more = *p++;
                literals += more;
            } while (more == 255);
        }
        if (at + literals > room) {
            at = -1;
            break;
        }
        for (int k = 0; k < literals; k++) o[at + k] = p[k];
        at += literals;
        p += literals;
        if (p >= end) break;
        int offset = p[0] | p[1] << 8;
        p += 2;
        int match = token & 15;
        if (match == 15) {
            unsigned more;
            do {
                more = *p++;
                match += more;
            } while (more == 255);
        }
        match += 4;
        if (offset == 0 || offset > at || at + match > room) {
            at = -1;
            break;
        }
        for (int k = 0; k < match; k++) o[at + k] = o[at + k - offset];
        at += match;
    }
    length[b] = at;
}
