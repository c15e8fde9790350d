// The largest value of each bucket, by atomics on shared and then on global memory.
extern "C" __global__ void bucket_max(const unsigned *key, const int *value, int *out, int n) {
    __shared__ int best[32];
    if (threadIdx.x < 32) best[threadIdx.x] = -2147483647 - 1;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicMax(&best[key[i] * 2654435761u >> 27], value[i]);
    __syncthreads();
    if (threadIdx.x < 32) atomicMax(&out[threadIdx.x], best[threadIdx.x]);
}
