// A step of beam search, a block a sentence: each warp keeps the best four of its part of beams times words, one warp merges them.
__device__ void keep(float (&s)[4], int (&w)[4], float v, int k) {
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (v > s[j] || (v == s[j] && k < w[j])) {
            float u = s[j];
            int i = w[j];
            s[j] = v;
            w[j] = k;
            v = u;
            k = i;
        }
}
__device__ void merge(float (&s)[4], int (&w)[4]) {
    for (int d = 16; d; d >>= 1) {
        float so[4];
        int wo[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            so[j] = __shfl_xor_sync(~0u, s[j], d);
            wo[j] = __shfl_xor_sync(~0u, w[j], d);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) keep(s, w, so[j], wo[j]);
    }
}
extern "C" __global__ void beam_step(const float *logp, const float *scores, const int *ended, float *best, int *parent, int *word, int words) {
    __shared__ float bs[32];
    __shared__ int bw[32];
    const int beams = 4;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, b = blockIdx.x;
    float s[4];
    int w[4];
#pragma unroll
    for (int j = 0; j < 4; j++) s[j] = -1e30f, w[j] = 0x7fffffff;
    for (int beam = 0; beam < beams; beam++) {
        float base = scores[b * beams + beam];
        if (ended[b * beams + beam]) {
            if (threadIdx.x == 0) keep(s, w, base, beam * words);
            continue;
        }
        for (int k = threadIdx.x; k < words; k += blockDim.x) keep(s, w, base + logp[(b * beams + beam) * words + k], beam * words + k);
    }
    merge(s, w);
    if (lane == 0)
#pragma unroll
        for (int j = 0; j < 4; j++) bs[warp * 4 + j] = s[j], bw[warp * 4 + j] = w[j];
    __syncthreads();
    if (warp) return;
#pragma unroll
    for (int j = 0; j < 4; j++) s[j] = -1e30f, w[j] = 0x7fffffff;
    if (lane < warps * 4) s[0] = bs[lane], w[0] = bw[lane];
    merge(s, w);
    if (lane < 4) {
        float v = lane == 0 ? s[0] : lane == 1 ? s[1] : lane == 2 ? s[2] : s[3];
        int k = lane == 0 ? w[0] : lane == 1 ? w[1] : lane == 2 ? w[2] : w[3];
        best[b * beams + lane] = v;
        parent[b * beams + lane] = k / words;
        word[b * beams + lane] = k % words;
    }
}
