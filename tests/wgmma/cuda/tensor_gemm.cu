// D = A B^T with wgmma: one warpgroup of 128 threads loads tiles with tensor copies, two others multiply (m64n128 each).
#include <cstdint>

constexpr int STAGES = 3, TILE = 128 * 128;

__device__ __forceinline__ uint32_t smem_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void init(uint64_t* bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_address(bar)), "r"(count));
}
__device__ __forceinline__ void expect(uint64_t* bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_address(bar)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(uint64_t* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_address(bar)) : "memory");
}
__device__ __forceinline__ void wait(uint64_t* bar, int phase) {
    asm volatile(
        "{\n.reg .pred p;\nLOOP%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE%=;\nbra LOOP%=;\nDONE%=:\n}"
        ::"r"(smem_address(bar)), "r"(phase) : "memory");
}
struct alignas(64) Map {
    char bytes[128];
};

__device__ __forceinline__ void copy(void* to, const Map* map, int x, int y, uint64_t* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(smem_address(to)), "l"(map), "r"(x), "r"(y), "r"(smem_address(bar)) : "memory");
}
__device__ __forceinline__ uint64_t descriptor(const void* p) {
    return (uint64_t)((smem_address(p) & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#define ACC64 \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define D64 D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56)
#define MMA(NAME, N, SHAPE, TAIL)                                                                                              \
    struct NAME {                                                                                                           \
        static constexpr int COLUMNS = N;                                                                                   \
        static __device__ __forceinline__ void mma(float (&d)[64], uint64_t a, uint64_t b, int keep) {                      \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned." SHAPE " " ACC64          \
                         ", %64, %65, p, " TAIL ";\n}"                                                                      \
                         : D64 : "l"(a), "l"(b), "r"(keep));                                                                \
        }                                                                                                                   \
    }
MMA(F16, 64, "m64n128k16.f32.f16.f16", "1, 1, 0, 0");
MMA(BF16, 64, "m64n128k16.f32.bf16.bf16", "1, 1, 0, 0");
MMA(E4M3, 128, "m64n128k32.f32.e4m3.e4m3", "1, 1");

struct Storage {
    uint8_t a[STAGES][TILE], b[STAGES][TILE];
    uint64_t full[STAGES], empty[STAGES];
};

template <class T>
__device__ __forceinline__ void gemm(const Map* a, const Map* b, float* out, int tiles_k, int n) {
    extern __shared__ __align__(1024) uint8_t raw[];
    Storage& s = *(Storage*)raw;
    int group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            init(&s.full[i], 1);
            init(&s.empty[i], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0, phase = 1;
            for (int k = 0; k < tiles_k; k++) {
                wait(&s.empty[stage], phase);
                expect(&s.full[stage], 2 * TILE);
                copy(s.a[stage], a, k * T::COLUMNS, blockIdx.y * 128, &s.full[stage]);
                copy(s.b[stage], b, k * T::COLUMNS, blockIdx.x * 128, &s.full[stage]);
                if (++stage == STAGES) stage = 0, phase ^= 1;
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[64];
    for (int i = 0; i < 64; i++) d[i] = 0;
    int stage = 0, phase = 0, last = -1;
    for (int k = 0; k < tiles_k; k++) {
        wait(&s.full[stage], phase);
        uint64_t da = descriptor(s.a[stage] + (group - 1) * 64 * 128), db = descriptor(s.b[stage]);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < 4; i++) T::mma(d, da + 2 * i, db + 2 * i, k > 0 || i > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (last >= 0 && threadIdx.x % 128 == 0) arrive(&s.empty[last]);
        last = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int row = blockIdx.y * 128 + (group - 1) * 64 + warp * 16 + lane / 4;
    float* p = out + (size_t)row * n + blockIdx.x * 128 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        *(float2*)(p + 8 * j) = make_float2(d[4 * j], d[4 * j + 1]);
        *(float2*)(p + 8 * j + 8 * (size_t)n) = make_float2(d[4 * j + 2], d[4 * j + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
tensor_f16(const __grid_constant__ Map a, const __grid_constant__ Map b, float* out, int tiles_k, int n) { gemm<F16>(&a, &b, out, tiles_k, n); }
extern "C" __global__ void __launch_bounds__(384, 1)
tensor_bf16(const __grid_constant__ Map a, const __grid_constant__ Map b, float* out, int tiles_k, int n) { gemm<BF16>(&a, &b, out, tiles_k, n); }
extern "C" __global__ void __launch_bounds__(384, 1)
tensor_e4m3(const __grid_constant__ Map a, const __grid_constant__ Map b, float* out, int tiles_k, int n) { gemm<E4M3>(&a, &b, out, tiles_k, n); }
