// Bitonic sorting of keys of 64 bits with their values in shared memory, 128 pairs a block.
extern "C" __global__ void bitonic_pairs(unsigned long long *keys, unsigned int *values, int descending) {
    __shared__ unsigned long long k[128];
    __shared__ unsigned int v[128];
    int base = blockIdx.x * 128, t = threadIdx.x;
    k[t] = keys[base + t];
    k[t + 64] = keys[base + t + 64];
    v[t] = values[base + t];
    v[t + 64] = values[base + t + 64];
    for (int size = 2; size <= 128; size *= 2) {
        bool up = ((t & (size / 2)) == 0) != (descending != 0);
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int lo = 2 * t - (t & (stride - 1)), hi = lo + stride;
            unsigned long long a = k[lo], b = k[hi];
            if ((a > b) == up) {
                k[lo] = b;
                k[hi] = a;
                unsigned int w = v[lo];
                v[lo] = v[hi];
                v[hi] = w;
            }
        }
    }
    __syncthreads();
    keys[base + t] = k[t];
    keys[base + t + 64] = k[t + 64];
    values[base + t] = v[t];
    values[base + t + 64] = v[t + 64];
}
