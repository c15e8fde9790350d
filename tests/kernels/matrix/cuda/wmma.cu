// C = A * B by wmma: 64x64 blocks, four warps of 32x32, A and B row-major; f16 and int8.
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

template <class In, class Sum> __device__ __forceinline__ void product(const In *a, const In *b, Sum *c, int n, int k) {
    __shared__ __align__(32) In sa[64][48], sb[32][80];
    int t = threadIdx.x, warp = t >> 5, m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, wm = (warp & 1) * 32, wn = (warp >> 1) * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> d[2][2];
    for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) wmma::fill_fragment(d[i][j], Sum(0));
    for (int k0 = 0; k0 < k; k0 += 32) {
        for (int x = t; x < 64 * 32; x += 128) { sa[x >> 5][x & 31] = a[(m0 + (x >> 5)) * k + k0 + (x & 31)]; sb[x >> 6][x & 63] = b[(k0 + (x >> 6)) * n + n0 + (x & 63)]; }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 32; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, In, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, In, wmma::row_major> fb[2];
            for (int i = 0; i < 2; i++) wmma::load_matrix_sync(fa[i], &sa[wm + 16 * i][kk], 48);
            for (int j = 0; j < 2; j++) wmma::load_matrix_sync(fb[j], &sb[kk][wn + 16 * j], 80);
            for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) wmma::mma_sync(d[i][j], fa[i], fb[j], d[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) wmma::store_matrix_sync(c + (m0 + wm + 16 * i) * n + n0 + wn + 16 * j, d[i][j], n, wmma::mem_row_major);
}
#if KIND == 0
extern "C" __global__ void __launch_bounds__(128) wmma_f16(const half *a, const half *b, float *c, int n, int k) { product<half, float>(a, b, c, n, k); }
#else
extern "C" __global__ void __launch_bounds__(128) wmma_s8(const signed char *a, const signed char *b, int *c, int n, int k) { product<signed char, int>(a, b, c, n, k); }
#endif
