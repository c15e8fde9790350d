// Solutions of the problem of n queens, the first two queens given by the thread; the search keeps its stack in local memory.
#include "nvptx.h"
GLOBAL void queens(int *out, int n) {
    int at = INDEX;
    if (at >= n * n) return;
    u32 all = (1u << n) - 1, columns[16], left[16], right[16], free[16];
    u32 a = 1u << at / n, b = 1u << at % n;
    int count = 0, depth = 0;
    if (a == b || a << 1 == b || a >> 1 == b) {
        out[at] = 0;
        return;
    }
    columns[0] = a | b, left[0] = (a << 1 | b) << 1, right[0] = (a >> 1 | b) >> 1;
    free[0] = all & ~(columns[0] | left[0] | right[0]);
    while (depth >= 0) {
        if (!free[depth]) {
            depth--;
            continue;
        }
        u32 place = free[depth] & -free[depth];
        free[depth] ^= place;
        u32 c = columns[depth] | place;
        if (c == all) {
            count++;
            continue;
        }
        u32 l = (left[depth] | place) << 1, r = (right[depth] | place) >> 1;
        depth++;
        columns[depth] = c, left[depth] = l, right[depth] = r, free[depth] = all & ~(c | l | r);
    }
    out[at] = count;
}
