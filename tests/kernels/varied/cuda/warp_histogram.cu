// Counts of 64 bins, one histogram a warp in shared memory, to which one lane adds for all lanes with the same bin.
extern "C" __global__ void warp_histogram(const unsigned short *x, unsigned *out, int n) {
    __shared__ unsigned bins[4][64];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = lane; k < 64; k += 32) bins[warp][k] = 0;
    __syncwarp();
    for (int base = blockIdx.x * blockDim.x + warp * 32; base < n; base += gridDim.x * blockDim.x) {
        int i = base + lane;
        unsigned bin = i < n ? x[i] >> 10 : 64;
        unsigned same = __match_any_sync(~0u, bin);
        if (bin < 64 && lane == __ffs(same) - 1) bins[warp][bin] += __popc(same);
        __syncwarp();
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 64; k += blockDim.x) {
        unsigned s = bins[0][k] + bins[1][k] + bins[2][k] + bins[3][k];
        if (s) atomicAdd(out + k, s);
    }
}
