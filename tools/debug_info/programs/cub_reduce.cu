#include <cub/cub.cuh>
template <class T, class Op> __global__ void k_reduce(const T *in, T *out, int n, Op op, T first)
{
    using Reduce = cub::BlockReduce<T, 256>;
    __shared__ typename Reduce::TempStorage t;
    T sum = first;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum = op(sum, in[i]);
    T all = Reduce(t).Reduce(sum, op);
    if (threadIdx.x == 0) out[blockIdx.x] = all;
}
struct Max { template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template __global__ void k_reduce<float, Max>(const float *, float *, int, Max, float);
template __global__ void k_reduce<long long, Max>(const long long *, long long *, int, Max, long long);
