#include <cub/cub.cuh>
template <int T, int I> __device__ void sort_tile(int *keys, int *values)
{
    using Load = cub::BlockLoad<int, T, I, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, T, I, cub::BLOCK_STORE_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, T, I, int>;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; typename Sort::TempStorage sort; } t;
    int k[I], v[I];
    Load(t.load).Load(keys + blockIdx.x * T * I, k);
    __syncthreads();
    Load(t.load).Load(values + blockIdx.x * T * I, v);
    __syncthreads();
    Sort(t.sort).SortBlockedToStriped(k, v, 0, 8);
    __syncthreads();
    Store(t.store).Store(keys + blockIdx.x * T * I, k);
}
__global__ void k_sort(int *keys, int *values) { sort_tile<64, 2>(keys, values); }
