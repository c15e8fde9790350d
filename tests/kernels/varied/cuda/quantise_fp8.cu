// Floats to bytes of the format e4m3 after multiplication by a scale, and the largest absolute value for the next scale.
#include <cuda_fp8.h>
__device__ unsigned widest(float m) {
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    return __float_as_uint(m);
}
extern "C" __global__ void quantise_fp8(const float *x, __nv_fp8_storage_t *out, unsigned *largest, float scale, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    float m = 0;
    if (i < n) {
        float4 v = *(const float4 *)(x + i);
        unsigned a = __nv_cvt_float_to_fp8(v.x * scale, __NV_SATFINITE, __NV_E4M3), b = __nv_cvt_float_to_fp8(v.y * scale, __NV_SATFINITE, __NV_E4M3);
        unsigned c = __nv_cvt_float_to_fp8(v.z * scale, __NV_SATFINITE, __NV_E4M3), d = __nv_cvt_float_to_fp8(v.w * scale, __NV_SATFINITE, __NV_E4M3);
        *(unsigned *)(out + i) = a | b << 8 | c << 16 | d << 24;
        m = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    }
    unsigned bits = widest(m);
    if (threadIdx.x % 32 == 0) atomicMax(largest, bits);
}
