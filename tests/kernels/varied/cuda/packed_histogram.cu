// Histogram of bytes with counters of 16 bits, two in a word of shared memory; one counter set per warp.
extern "C" __global__ void packed_histogram(const uchar4 *x, unsigned *bins, int n) {
    __shared__ unsigned h[4][128];
    unsigned *own = h[threadIdx.x >> 5];
    for (int i = threadIdx.x & 31; i < 128; i += 32) own[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 128) {
        uchar4 v = x[i];
        atomicAdd(own + (v.x >> 1), 1u << (v.x & 1) * 16);
        atomicAdd(own + (v.y >> 1), 1u << (v.y & 1) * 16);
        atomicAdd(own + (v.z >> 1), 1u << (v.z & 1) * 16);
        atomicAdd(own + (v.w >> 1), 1u << (v.w & 1) * 16);
    }
    __syncthreads();
    unsigned s = h[0][threadIdx.x] + h[1][threadIdx.x] + h[2][threadIdx.x] + h[3][threadIdx.x];
    bins[2 * threadIdx.x] = s & 0xffff;
    bins[2 * threadIdx.x + 1] = s >> 16;
}
