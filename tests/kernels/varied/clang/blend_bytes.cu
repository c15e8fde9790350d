// Two pictures of four bytes a dot, the first over the second by its last byte.
#include "nvptx.h"
GLOBAL void blend_bytes(const u32 *over, const u32 *under, u32 *out, int n) {
    int at = INDEX;
    if (at >= n) return;
    u32 a = over[at], b = under[at], weight = a >> 24, result = 0;
    for (int k = 0; k < 4; k++) {
        u32 x = a >> 8 * k & 255, y = b >> 8 * k & 255;
        u32 sum = x * weight + y * (255 - weight) + 128;
        sum = (sum + (sum >> 8)) >> 8;
        result |= sum << 8 * k;
    }
    out[at] = result;
}
