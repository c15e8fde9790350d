// Matrix instructions; ptxas itself lays out the wmma fragments.  tensor.ptx is made from this with: nvcc -arch=sm_80 -ptx
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

template <typename T, typename U, int M, int N, int K> __device__ void product(U *c, const T *a, const T *b) {
  fragment<matrix_a, M, N, K, T, row_major> x;
  fragment<matrix_b, M, N, K, T, col_major> y;
  fragment<accumulator, M, N, K, U> z;
  load_matrix_sync(x, a, K);
  load_matrix_sync(y, b, K);
  load_matrix_sync(z, c, N, mem_row_major);
  mma_sync(z, x, y, z);
  store_matrix_sync(c, z, N, mem_row_major);
}
extern "C" __global__ void half_float(float *c, const half *a, const half *b) { product<half, float, 16, 16, 16>(c, a, b); }
extern "C" __global__ void half_half(half *c, const half *a, const half *b) { product<half, half, 16, 16, 16>(c, a, b); }
extern "C" __global__ void half_wide(float *c, const half *a, const half *b) { product<half, float, 8, 32, 16>(c, a, b); }
extern "C" __global__ void signed_char(int *c, const signed char *a, const signed char *b) {
  product<signed char, int, 16, 16, 16>(c, a, b);
}
extern "C" __global__ void unsigned_char(int *c, const unsigned char *a, const unsigned char *b) {
  product<unsigned char, int, 32, 8, 16>(c, a, b);
}
extern "C" __global__ void brain(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b) {
  product<__nv_bfloat16, float, 16, 16, 16>(c, a, b);
}
extern "C" __global__ void doubles(double *c, const double *a, const double *b) { product<double, double, 8, 8, 4>(c, a, b); }
extern "C" __global__ void tensor_float(float *c, const float *a, const float *b) {
  fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> x;
  fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> y;
  fragment<accumulator, 16, 16, 8, float> z;
  load_matrix_sync(x, a, 8);
  load_matrix_sync(y, b, 8);
  fill_fragment(z, 1.0f);
  for (int i = 0; i < x.num_elements; i++) x.x[i] = __float_to_tf32(x.x[i]);
  for (int i = 0; i < y.num_elements; i++) y.x[i] = __float_to_tf32(y.x[i]);
  mma_sync(z, x, y, z);
  store_matrix_sync(c, z, 16, mem_row_major);
}
// o: the four matrices as ldmatrix gives them, then transposed
extern "C" __global__ void rows(unsigned *o, const unsigned short *a) {
  __shared__ unsigned short s[256];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) s[i] = a[i];
  __syncwarp();
  unsigned p = (unsigned)__cvta_generic_to_shared(&s[t * 8]), r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p));
  for (int i = 0; i < 4; i++) o[i * 32 + t] = r[i];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(p));
  for (int i = 0; i < 2; i++) o[128 + i * 32 + t] = r[i];
}
