#include <cute/tensor.hpp>
using namespace cute;
template <class T, class TM, class TN> __global__ void k_transpose(const T *s, T *d, TM m, TN n)
{
    auto S = make_tensor(make_gmem_ptr(s), make_layout(make_shape(m, n), LayoutRight{}));
    auto D = make_tensor(make_gmem_ptr(d), make_layout(make_shape(n, m), LayoutRight{}));
    __shared__ T buffer[32 * 33];
    auto B = make_tensor(make_smem_ptr(buffer), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
    auto tile = make_shape(_32{}, _32{});
    auto gs = local_tile(S, tile, make_coord(blockIdx.x, blockIdx.y));
    auto gd = local_tile(D, tile, make_coord(blockIdx.y, blockIdx.x));
    auto threads = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
    auto from = local_partition(gs, threads, threadIdx.x), mid = local_partition(B, threads, threadIdx.x);
    copy(from, mid);
    __syncthreads();
    auto back = make_tensor(make_smem_ptr(buffer), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
    copy(local_partition(back, threads, threadIdx.x), local_partition(gd, threads, threadIdx.x));
}
template __global__ void k_transpose<float, int, int>(const float *, float *, int, int);
template __global__ void k_transpose<short, int, int>(const short *, short *, int, int);
