#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void k_groups(int *a, int *out, int n)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int v = a[block.thread_rank()];
    int s = cg::reduce(tile, v, cg::plus<int>());
    int e = cg::exclusive_scan(tile, v);
    auto active = cg::coalesced_threads();
    if (v > n) { auto g = cg::coalesced_threads(); if (g.thread_rank() == 0) atomicAdd(out, g.size()); }
    block.sync();
    out[1 + block.thread_rank()] = s + e + active.size() + tile.shfl_xor(v, 3) + tile.match_any(v);
}
