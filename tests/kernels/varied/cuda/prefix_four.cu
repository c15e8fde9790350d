// Exclusive sums of a block of 512 numbers, four a thread.
extern "C" __global__ void prefix_four(const int4 *x, int4 *out) {
    __shared__ int sums[4];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int4 v = x[blockIdx.x * 128 + t];
    int own = v.x + v.y + v.z + v.w, s = own;
    for (int k = 1; k < 32; k <<= 1) {
        int other = __shfl_up_sync(~0u, s, k);
        if (lane >= k) s += other;
    }
    if (lane == 31) sums[warp] = s;
    __syncthreads();
    int before = s - own;
    for (int k = 0; k < warp; k++) before += sums[k];
    int4 r = {before, before + v.x, before + v.x + v.y, before + v.x + v.y + v.z};
    out[blockIdx.x * 128 + t] = r;
}
