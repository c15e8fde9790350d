// New keys and values to a cache of pages, halves to bytes in e4m3 with a scale a head; places of tokens by a table of slots.
#include <cuda_fp16.h>
#include <cuda_fp8.h>
extern "C" __global__ void cache_to_fp8(const __half *key, const __half *value, __nv_fp8_storage_t *keys, __nv_fp8_storage_t *values, const long long *slots, const float *scales, int heads, int size, int page) {
    int token = blockIdx.x;
    long long slot = slots[token];
    if (slot < 0) return;
    long long block = slot / page;
    int inside = slot % page;
    for (int i = threadIdx.x; i < heads * size / 2; i += blockDim.x) {
        int head = i / (size / 2), d = i % (size / 2);
        float scale = 1.0f / scales[head];
        float2 k = __half22float2(((const __half2 *)key)[token * heads * size / 2 + i]);
        float2 v = __half22float2(((const __half2 *)value)[token * heads * size / 2 + i]);
        long long to = ((block * heads + head) * page + inside) * size + 2 * d;
        *(__nv_fp8x2_storage_t *)(keys + to) = __nv_cvt_float2_to_fp8x2(make_float2(k.x * scale, k.y * scale), __NV_SATFINITE, __NV_E4M3);
        *(__nv_fp8x2_storage_t *)(values + to) = __nv_cvt_float2_to_fp8x2(make_float2(v.x * scale, v.y * scale), __NV_SATFINITE, __NV_E4M3);
    }
}
