// A histogram of bytes, counted in shared memory first.
extern "C" __global__ void histogram_bytes(const uchar4 *x, unsigned *h, int n) {
    __shared__ unsigned s[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 v = x[i];
        atomicAdd(&s[v.x], 1), atomicAdd(&s[v.y], 1), atomicAdd(&s[v.z], 1), atomicAdd(&s[v.w], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&h[i], s[i]);
}
