// Sums that start again at each flag, over a block of 128.
extern "C" __global__ void segmented_scan(const int *x, const int *flags, int *out) {
    __shared__ int value[128], head[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    value[t] = x[i];
    head[t] = flags[i];
    for (int k = 1; k < 128; k <<= 1) {
        __syncthreads();
        int v = value[t], f = head[t];
        int w = t >= k ? value[t - k] : 0, g = t >= k ? head[t - k] : 0;
        __syncthreads();
        if (!f) { value[t] = v + w; head[t] = f | g; }
    }
    __syncthreads();
    out[i] = value[t];
}
