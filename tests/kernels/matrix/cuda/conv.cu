// 3x3 convolution, stride 1, padding 1, as a matrix product: pixels gathered by im2col tensor copies, filters by tiled ones.
// in: NHWC f16; filters: [K][9 C]; out: NHWK f32.  A block makes 64 pixels of 64 filters; warp 4 copies, warps 0 to 3 multiply (wgmma).
#include <cstdint>

constexpr int STAGES = 3, TILE = 64 * 128;

struct alignas(64) Map { char bytes[128]; };
struct Storage {
    uint8_t a[STAGES][TILE], b[STAGES][TILE];
    uint64_t full[STAGES], empty[STAGES];
};

__device__ __forceinline__ uint32_t window(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait(uint64_t *bar, int phase) {
    asm volatile("{\n.reg .pred p;\nLOOP%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE%=;\nbra LOOP%=;\nDONE%=:\n}" ::"r"(window(bar)), "r"(phase) : "memory");
}
__device__ __forceinline__ uint64_t descriptor(const void *p) {
    return (uint64_t)((window(p) & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
__device__ __forceinline__ void product(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;" : D8(0), D8(8), D8(16), D8(24) : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(160) conv_f16(const __grid_constant__ Map images, const __grid_constant__ Map filters, float *out, int width, int height, int channels, int count) {
    extern __shared__ __align__(1024) uint8_t raw[];
    Storage &s = *(Storage *)raw;
    int first = blockIdx.x * 64, steps = 9 * channels / 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(window(&s.full[i])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(window(&s.empty[i])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            int n = first / (width * height), h = first / width % height - 1, w = first % width - 1;
            for (int k = 0; k < steps; k++) {
                int stage = k % STAGES, tap = k * 64 / channels, channel = k * 64 % channels;
                wait(&s.empty[stage], k / STAGES + 1 & 1);
                uint32_t bar = window(&s.full[stage]);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(2 * TILE) : "memory");
                asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                             ::"r"(window(s.a[stage])), "l"(&images), "r"(channel), "r"(w), "r"(h), "r"(n), "r"(bar), "h"((short)(tap % 3)), "h"((short)(tap / 3)) : "memory");
                asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                             ::"r"(window(s.b[stage])), "l"(&filters), "r"(k * 64), "r"(blockIdx.y * 64), "r"(bar) : "memory");
            }
        }
        return;
    }
    float d[32];
    for (int i = 0; i < 32; i++) d[i] = 0;
    for (int k = 0; k < steps; k++) {
        int stage = k % STAGES;
        wait(&s.full[stage], k / STAGES & 1);
        uint64_t a = descriptor(s.a[stage]), b = descriptor(s.b[stage]);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int j = 0; j < 4; j++) product(d, a + 2 * j, b + 2 * j);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(window(&s.empty[stage])) : "memory");
    }
    int lane = threadIdx.x & 31, pixel = first + (threadIdx.x >> 5) * 16 + (lane >> 2), filter = blockIdx.y * 64 + (lane & 3) * 2;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 2; j++)
            *(float2 *)(out + (size_t)(pixel + 8 * j) * count + filter + 8 * i) = make_float2(d[4 * i + 2 * j], d[4 * i + 2 * j + 1]);
}
