// Length of the longest common subsequence of two texts of four letters, 64 places a word.
#include "nvptx.h"
GLOBAL void subsequence_bits(const u8 *a, const u8 *b, int *out, int first, int second, int n) {
    int at = INDEX;
    if (at >= n) return;
    u64 where[4] = {0, 0, 0, 0}, v = ~0ull;
    for (int i = 0; i < first; i++) where[a[at * first + i] & 3] |= 1ull << i;
    for (int j = 0; j < second; j++) {
        u64 u = v & where[b[at * second + j] & 3];
        v = v + u | v - u;
    }
    out[at] = __builtin_popcountll(~v);
}
