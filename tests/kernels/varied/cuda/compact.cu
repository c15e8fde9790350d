// Keeps what is above a limit, in order, by votes and a scan over the warps of a block.
extern "C" __global__ void compact(const int *in, int *out, int *count, int limit) {
    __shared__ int warps[4];
    int t = threadIdx.x, i = blockIdx.x * 128 + t, lane = t & 31, v = in[i];
    unsigned keep = __ballot_sync(~0u, v > limit);
    if (lane == 0) warps[t >> 5] = __popc(keep);
    __syncthreads();
    int base = 0, all = 0;
    for (int k = 0; k < 4; k++) { if (k < t >> 5) base += warps[k]; all += warps[k]; }
    if (v > limit) out[blockIdx.x * 128 + base + __popc(keep & (1u << lane) - 1)] = v;
    if (t == 0) count[blockIdx.x] = all;
}
