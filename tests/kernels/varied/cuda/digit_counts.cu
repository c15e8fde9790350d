// How often each value of one digit of eight bits occurs in the part of a block.
extern "C" __global__ void digit_counts(const unsigned *keys, unsigned *counts, int n, int shift) {
    __shared__ unsigned h[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[keys[i] >> shift & 255], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i * gridDim.x + blockIdx.x] = h[i];
}
