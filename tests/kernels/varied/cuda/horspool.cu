// Each thread searches its stretch of a text for a pattern, with a table of skips in shared memory.
extern "C" __global__ void horspool(const unsigned char *text, int n, const unsigned char *pattern, int m, int *count) {
    __shared__ int skip[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) skip[k] = m;
    __syncthreads();
    if (threadIdx.x == 0) for (int k = 0; k < m - 1; k++) skip[pattern[k]] = m - 1 - k;
    __syncthreads();
    int threads = gridDim.x * blockDim.x, part = (n + threads - 1) / threads;
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * part, last = min(at + part, n - m + 1), found = 0;
    while (at < last) {
        int k = m - 1;
        while (k >= 0 && text[at + k] == pattern[k]) k--;
        if (k < 0) found++;
        at += k < 0 ? 1 : skip[text[at + m - 1]];
    }
    if (found) atomicAdd(count, found);
}
