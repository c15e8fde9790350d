// Samples a token of the smallest set whose probability reaches p, a block a row: softmax, a threshold by halving, a scan to the drawn place.
__device__ float total(float v, float *room) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) room[threadIdx.x / 32] = v;
    __syncthreads();
    float s = 0;
    for (int k = 0; k < blockDim.x / 32; k++) s += room[k];
    return s;
}
extern "C" __global__ void nucleus_sample(const float *logits, const float *draws, int *token, float *thresholds, int n, float p, float temperature) {
    __shared__ float room[32];
    extern __shared__ float prob[];
    const float *row = logits + blockIdx.x * n;
    float m = -1e30f;
    for (int k = threadIdx.x; k < n; k += blockDim.x) m = fmaxf(m, row[k]);
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if ((threadIdx.x & 31) == 0) room[threadIdx.x / 32] = m;
    __syncthreads();
    for (int k = 0; k < blockDim.x / 32; k++) m = fmaxf(m, room[k]);
    float s = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        float e = __expf((row[k] - m) / temperature);
        prob[k] = e;
        s += e;
    }
    float all = total(s, room);
    float low = 0, high = 1;
    for (int step = 0; step < 16; step++) {
        float middle = 0.5f * (low + high), kept = 0;
        for (int k = threadIdx.x; k < n; k += blockDim.x)
            if (prob[k] >= middle) kept += prob[k];
        kept = total(kept, room);
        if (kept >= p * all) low = middle;
        else high = middle;
    }
    float kept = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        if (prob[k] >= low) kept += prob[k];
    kept = total(kept, room);
    if (threadIdx.x < 32) {
        float goal = draws[blockIdx.x] * kept, before = 0;
        int chosen = -1;
        for (int at = 0; at < n && chosen < 0; at += 32) {
            int k = at + threadIdx.x;
            float v = k < n && prob[k] >= low ? prob[k] : 0, sum = v;
            for (int d = 1; d < 32; d <<= 1) {
                float u = __shfl_up_sync(~0u, sum, d);
                if (threadIdx.x >= d) sum += u;
            }
            unsigned hit = __ballot_sync(~0u, v > 0 && before + sum > goal);
            if (hit) chosen = at + __ffs(hit) - 1;
            before += __shfl_sync(~0u, sum, 31);
        }
        if (threadIdx.x == 0) {
            token[blockIdx.x] = chosen;
            thresholds[blockIdx.x] = low;
        }
    }
}
