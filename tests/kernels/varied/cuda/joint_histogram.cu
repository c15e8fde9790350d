// Joint histogram of two images of bytes, 16 by 16 bins, and the sums that mutual information needs.
extern "C" __global__ void joint_histogram(const uchar4 *a, const uchar4 *b, int quads, unsigned int *bins, unsigned long long *sums) {
    __shared__ unsigned int h[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) h[k] = 0;
    __syncthreads();
    unsigned int sa = 0, sb = 0, sab = 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < quads; k += gridDim.x * blockDim.x) {
        uchar4 x = a[k], y = b[k];
        atomicAdd(&h[(x.x & 0xf0) | y.x >> 4], 1);
        atomicAdd(&h[(x.y & 0xf0) | y.y >> 4], 1);
        atomicAdd(&h[(x.z & 0xf0) | y.z >> 4], 1);
        atomicAdd(&h[(x.w & 0xf0) | y.w >> 4], 1);
        sa += x.x + x.y + x.z + x.w;
        sb += y.x + y.y + y.z + y.w;
        sab += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
    }
    for (int d = 16; d; d /= 2) {
        sa += __shfl_xor_sync(0xffffffffu, sa, d);
        sb += __shfl_xor_sync(0xffffffffu, sb, d);
        sab += __shfl_xor_sync(0xffffffffu, sab, d);
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&sums[0], (unsigned long long)sa);
        atomicAdd(&sums[1], (unsigned long long)sb);
        atomicAdd(&sums[2], (unsigned long long)sab);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        if (h[k]) atomicAdd(&bins[k], h[k]);
}
