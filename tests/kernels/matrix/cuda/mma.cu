// C[M][N] = A[M][K] * B[N][K]^T by mma.sync out of double-buffered shared memory: 64x64 blocks, four warps of 32x32.
// All element types move the same bytes: 64 of k a step, ldmatrix of 16 rows by 32 bytes.
#include <cstdint>

constexpr int STRIDE = 80;

__device__ __forceinline__ uint32_t window(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void load4(uint32_t (&r)[4], uint32_t a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void copy16(char *to, const char *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(window(to)), "l"(from)); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }
#else
__device__ __forceinline__ void copy16(char *to, const char *from) { *(uint4 *)to = *(const uint4 *)from; }
__device__ __forceinline__ void commit() {}
template <int N> __device__ __forceinline__ void wait() {}
#endif

#define FLOAT_MMA(NAME, TEXT)                                                                                                  \
    struct NAME {                                                                                                              \
        typedef float Sum;                                                                                                     \
        static __device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {          \
            asm volatile("mma.sync.aligned." TEXT " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                     \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                      \
        }                                                                                                                      \
    }
FLOAT_MMA(F16, "m16n8k16.row.col.f32.f16.f16.f32");
FLOAT_MMA(Bf16, "m16n8k16.row.col.f32.bf16.bf16.f32");
FLOAT_MMA(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32");
FLOAT_MMA(E4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32");
struct S8 {
    typedef int Sum;
    static __device__ __forceinline__ void mma(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

template <class T> __device__ __forceinline__ void product(const char *a, const char *b, typename T::Sum *c, int n, int kbytes) {
    __shared__ __align__(16) char sa[2][64 * STRIDE], sb[2][64 * STRIDE];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, wm = (warp & 1) * 32, wn = (warp >> 1) * 32;
    auto fetch = [&](int stage, int k) {
        for (int i = 0; i < 2; i++) {
            int row = (t >> 2) + 32 * i, col = (t & 3) * 16;
            copy16(&sa[stage][row * STRIDE + col], a + (size_t)(m0 + row) * kbytes + k + col);
            copy16(&sb[stage][row * STRIDE + col], b + (size_t)(n0 + row) * kbytes + k + col);
        }
        commit();
    };
    typename T::Sum d[2][4][4] = {};
    fetch(0, 0);
    for (int k = 0, stage = 0; k < kbytes; k += 64, stage ^= 1) {
        if (k + 64 < kbytes) { fetch(stage ^ 1, k + 64); wait<1>(); }
        else wait<0>();
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 64; kk += 32) {
            uint32_t fa[2][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) load4(fa[i], window(&sa[stage][(wm + 16 * i + (lane & 15)) * STRIDE + kk + (lane >> 4) * 16]));
#pragma unroll
            for (int j = 0; j < 2; j++) load4(fb[j], window(&sb[stage][(wn + 16 * j + (lane & 7) + (lane >> 4) * 8) * STRIDE + kk + (lane >> 3 & 1) * 16]));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) T::mma(d[i][j], fa[i], fb[j >> 1][(j & 1) * 2], fb[j >> 1][(j & 1) * 2 + 1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            typename T::Sum *p = c + (size_t)(m0 + wm + 16 * i + (lane >> 2)) * n + n0 + wn + 8 * j + (lane & 3) * 2;
            p[0] = d[i][j][0]; p[1] = d[i][j][1]; p[8 * (size_t)n] = d[i][j][2]; p[8 * (size_t)n + 1] = d[i][j][3];
        }
}
// sm_75 has no cp.async and no m16n8k16: ordinary copies, two products of half the depth.
struct F16Halves {
    typedef float Sum;
    static __device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#pragma unroll
        for (int i = 0; i < 2; i++)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(i ? b1 : b0));
    }
};
#define ENTRY(NAME, T) \
    extern "C" __global__ void __launch_bounds__(128) NAME(const char *a, const char *b, T::Sum *c, int n, int kbytes) { product<T>(a, b, c, n, kbytes); }
#if KIND == 0
ENTRY(mma_f16, F16)
#elif KIND == 1
ENTRY(mma_bf16, Bf16)
#elif KIND == 2
ENTRY(mma_tf32, Tf32)
#elif KIND == 3
ENTRY(mma_s8, S8)
#elif KIND == 5
ENTRY(mma75_f16, F16Halves)
#else
ENTRY(mma_fp8, E4m3)
#endif
