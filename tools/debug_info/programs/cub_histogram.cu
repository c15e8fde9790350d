#include <cub/cub.cuh>
__global__ void k_histogram(const unsigned char *in, unsigned *out)
{
    using H = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename H::TempStorage t;
    __shared__ unsigned bins[256];
    unsigned char v[4];
    cub::LoadDirectStriped<128>(threadIdx.x, in + blockIdx.x * 512, v);
    H(t).Histogram(v, bins);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(out + i, bins[i]);
}
__global__ void k_warp_merge(int *in)
{
    using S = cub::WarpMergeSort<int, 4, 32>;
    __shared__ typename S::TempStorage t[2];
    int v[4];
    for (int i = 0; i < 4; i++) v[i] = in[threadIdx.x * 4 + i];
    S(t[threadIdx.x / 32]).Sort(v, [] __device__ (int a, int b) { return a > b; });
    for (int i = 0; i < 4; i++) in[threadIdx.x * 4 + i] = v[i];
}
