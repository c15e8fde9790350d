// Flash attention forward, head size 64, one warpgroup for 64 queries: S = Q K^T from shared memory, O += P V with P in registers
// and V read transposed.  Tiles are put into shared memory by the threads, swizzled over 128 bytes.
#include <cuda_fp16.h>
#include <cstdint>

__device__ __forceinline__ uint64_t descriptor(const void* p) {
    uint32_t at = (uint32_t)__cvta_generic_to_shared(p);
    return (uint64_t)((at & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#define ACC "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32 D8(0), D8(8), D8(16), D8(24)

__device__ __forceinline__ void from_shared(float (&d)[32], uint64_t a, uint64_t b, int keep) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " ACC
                 ", %32, %33, p, 1, 1, 0, 0;\n}" : D32 : "l"(a), "l"(b), "r"(keep));
}
__device__ __forceinline__ void from_registers(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " ACC ", {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
                 : D32 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT() asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")

__device__ __forceinline__ void load_tile(uint8_t* to, const __half* from) {
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {
        int row = i / 8, piece = i % 8;
        *(uint4*)(to + row * 128 + (piece ^ row % 8) * 16) = *(const uint4*)(from + row * 64 + piece * 8);
    }
}
__device__ __forceinline__ uint32_t pack(float a, float b) {
    __half2 h = __floats2half2_rn(a, b);
    return *(uint32_t*)&h;
}

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* q, const __half* k, const __half* v, float* out, int tiles, float scale) {
    __shared__ __align__(1024) uint8_t sq[64 * 128], sk[64 * 128], sv[64 * 128];
    load_tile(sq, q + (size_t)blockIdx.x * 64 * 64);
    float o[32], most[2] = {-1e30f, -1e30f}, total[2] = {0, 0};
    for (int i = 0; i < 32; i++) o[i] = 0;
    for (int t = 0; t < tiles; t++) {
        __syncthreads();
        load_tile(sk, k + (size_t)t * 64 * 64);
        load_tile(sv, v + (size_t)t * 64 * 64);
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        float s[32];
        FENCE();
#pragma unroll
        for (int i = 0; i < 4; i++) from_shared(s, descriptor(sq) + 2 * i, descriptor(sk) + 2 * i, i > 0);
        COMMIT();
        WAIT();
        for (int r = 0; r < 2; r++) {
            float m = most[r];
#pragma unroll
            for (int i = 0; i < 16; i++) m = fmaxf(m, s[4 * (i / 2) + 2 * r + i % 2] * scale);
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
            float old = exp2f(most[r] - m), sum = 0;
#pragma unroll
            for (int i = 0; i < 16; i++) {
                int at = 4 * (i / 2) + 2 * r + i % 2;
                s[at] = exp2f(s[at] * scale - m);
                sum += s[at];
                o[at] *= old;
            }
            total[r] = total[r] * old + sum;
            most[r] = m;
        }
        uint32_t p[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) p[i][j] = pack(s[8 * i + 2 * j], s[8 * i + 2 * j + 1]);
        FENCE();
#pragma unroll
        for (int i = 0; i < 4; i++) from_registers(o, p[i], descriptor(sv) + 128 * i);
        COMMIT();
        WAIT();
    }
    int lane = threadIdx.x % 32, row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + lane / 4;
    for (int r = 0; r < 2; r++) {
        float sum = total[r];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        float inverse = 1 / sum;
#pragma unroll
        for (int i = 0; i < 8; i++)
            *(float2*)(out + (size_t)(row + 8 * r) * 64 + 8 * i + lane % 4 * 2) =
                make_float2(o[4 * i + 2 * r] * inverse, o[4 * i + 2 * r + 1] * inverse);
    }
}
