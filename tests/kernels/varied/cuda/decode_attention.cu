// One query against many keys in half precision: softmax as the keys come, four warps with a share of the keys each.
#include <cuda_fp16.h>
extern "C" __global__ void decode_attention(const float *query, const __half2 *key, const __half2 *value, float2 *out, int keys, float scale) {
    __shared__ float best[4], sums[4];
    __shared__ float2 part[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.x;
    float2 q = ((const float2 *)query)[head * 32 + lane], acc = make_float2(0, 0);
    float m = -1e30f, sum = 0;
    for (int k = warp; k < keys; k += 4) {
        float2 v = __half22float2(key[(head * keys + k) * 32 + lane]);
        float s = q.x * v.x + q.y * v.y;
        for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
        s *= scale;
        float n = fmaxf(m, s), old = __expf(m - n), p = __expf(s - n);
        float2 u = __half22float2(value[(head * keys + k) * 32 + lane]);
        acc.x = acc.x * old + p * u.x;
        acc.y = acc.y * old + p * u.y;
        sum = sum * old + p;
        m = n;
    }
    if (lane == 0) { best[warp] = m; sums[warp] = sum; }
    part[warp][lane] = acc;
    __syncthreads();
    if (warp == 0) {
        float n = fmaxf(fmaxf(best[0], best[1]), fmaxf(best[2], best[3])), total = 0;
        float2 r = make_float2(0, 0);
        for (int w = 0; w < 4; w++) {
            float f = __expf(best[w] - n);
            total += f * sums[w];
            r.x += f * part[w][lane].x;
            r.y += f * part[w][lane].y;
        }
        out[head * 32 + lane] = make_float2(r.x / total, r.y / total);
    }
}
