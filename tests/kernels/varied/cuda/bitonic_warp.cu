// Sorts pairs of keys and values by a bitonic network: two pairs a lane, all in registers.
__device__ void order(unsigned &ka, unsigned &va, unsigned &kb, unsigned &vb, bool up) {
    if ((ka > kb) == up) {
        unsigned k = ka, v = va;
        ka = kb; va = vb; kb = k; vb = v;
    }
}
extern "C" __global__ void bitonic_warp(uint2 *pairs) {
    int lane = threadIdx.x % 32;
    uint2 *p = pairs + 64 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    unsigned k0 = p[lane].x, v0 = p[lane].y, k1 = p[lane + 32].x, v1 = p[lane + 32].y;
#pragma unroll
    for (int size = 2; size <= 64; size *= 2) {
        if (size == 64) order(k0, v0, k1, v1, true);
#pragma unroll
        for (int d = size == 64 ? 16 : size / 2; d; d /= 2) {
            bool up0 = (lane & size) == 0, up1 = ((lane + 32) & size) == 0, low = (lane & d) == 0;
            unsigned a = __shfl_xor_sync(~0u, k0, d), b = __shfl_xor_sync(~0u, v0, d);
            if (low == up0 ? a < k0 : a > k0) { k0 = a; v0 = b; }
            a = __shfl_xor_sync(~0u, k1, d), b = __shfl_xor_sync(~0u, v1, d);
            if (low == up1 ? a < k1 : a > k1) { k1 = a; v1 = b; }
        }
    }
    p[lane] = make_uint2(k0, v0);
    p[lane + 32] = make_uint2(k1, v1);
}
