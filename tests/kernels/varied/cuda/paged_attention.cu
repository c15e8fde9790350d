// Attention of one query a warp over keys and values in pages, with a running maximum; 64 values a head.
#include <cuda_fp16.h>
extern "C" __global__ void paged_attention(const __half2 *q, const __half2 *k, const __half2 *v, const int *table, const int *length, float2 *out, int pages, int heads, float scale) {
    int lane = threadIdx.x % 32, head = threadIdx.x / 32, sequence = blockIdx.x;
    float2 mine = __half22float2(q[(sequence * heads + head) * 32 + lane]);
    float top = -1e30f, sum = 0, ax = 0, ay = 0;
    int n = length[sequence];
    for (int first = 0; first < n; first += 16) {
        int page = table[sequence * pages + first / 16];
        int count = min(16, n - first);
        for (int t = 0; t < count; t++) {
            int at = ((page * 16 + t) * heads + head) * 32 + lane;
            float2 key = __half22float2(k[at]);
            float s = mine.x * key.x + mine.y * key.y;
            for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
            s *= scale;
            float high = fmaxf(top, s), old = __expf(top - high), p = __expf(s - high);
            float2 value = __half22float2(v[at]);
            ax = ax * old + p * value.x;
            ay = ay * old + p * value.y;
            sum = sum * old + p;
            top = high;
        }
    }
    out[(sequence * heads + head) * 32 + lane] = make_float2(ax / sum, ay / sum);
}
