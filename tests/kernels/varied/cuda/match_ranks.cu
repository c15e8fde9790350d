// Ranks of keys by a digit in a block: threads of a warp with equal digits count together, then a sum over warps.
extern "C" __global__ void match_ranks(const unsigned *key, int *rank, int *total, int shift) {
    __shared__ int counts[4][16];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = threadIdx.x; k < 64; k += 128) (&counts[0][0])[k] = 0;
    __syncthreads();
    int r[4];
    unsigned d[4];
    for (int j = 0; j < 4; j++) {
        d[j] = key[blockIdx.x * 512 + warp * 128 + j * 32 + lane] >> shift & 15;
        unsigned same = __match_any_sync(~0u, d[j]);
        unsigned below = same & ((1u << lane) - 1);
        int before = counts[warp][d[j]];
        __syncwarp();
        if (below == 0) counts[warp][d[j]] = before + __popc(same);
        __syncwarp();
        r[j] = before + __popc(below);
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        int s = 0;
        for (int w = 0; w < 4; w++) { int c = counts[w][threadIdx.x]; counts[w][threadIdx.x] = s; s += c; }
        total[blockIdx.x * 16 + threadIdx.x] = s;
    }
    __syncthreads();
    for (int j = 0; j < 4; j++) rank[blockIdx.x * 512 + warp * 128 + j * 32 + lane] = r[j] + counts[warp][d[j]];
}
