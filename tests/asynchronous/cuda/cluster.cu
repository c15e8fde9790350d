// A histogram whose bins are spread over the shared memory of a cluster, and a reduction over its blocks.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64) histogram(const unsigned *in, unsigned *bins, int n) {
    __shared__ unsigned own[32];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    if (threadIdx.x < 32)
        own[threadIdx.x] = 0;
    cluster.sync();
    for (int k = blockIdx.x * 64 + threadIdx.x; k < n; k += gridDim.x * 64) {
        unsigned bin = in[k] & 127;
        atomicAdd(cluster.map_shared_rank(own, bin / 32) + bin % 32, 1u);
    }
    cluster.sync();
    if (threadIdx.x < 32)
        atomicAdd(&bins[rank * 32 + threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64) reduce(const int *in, int *out) {
    __shared__ int part[64];
    auto cluster = cg::this_cluster();
    part[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    for (int step = 32; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    cluster.sync();
    int sum = 0;
    for (unsigned k = 0; k < cluster.num_blocks(); ++k)
        sum += *cluster.map_shared_rank(part, k) * (int)(k + 1);
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
