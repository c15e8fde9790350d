// Steps of the Viterbi algorithm: the best of 32 states before each, a thread a state.
extern "C" __global__ void viterbi_step(const float *transition, const float *emission, const int *seen, float *last, unsigned char *from, int steps) {
    __shared__ float score[32];
    int s = threadIdx.x;
    float own[32];
    for (int k = 0; k < 32; k++) own[k] = transition[k * 32 + s];
    score[s] = emission[s * 8 + seen[0]];
    __syncwarp();
    for (int t = 1; t < steps; t++) {
        float best = score[0] + own[0];
        int at = 0;
        for (int k = 1; k < 32; k++) {
            float v = score[k] + own[k];
            if (v > best) { best = v; at = k; }
        }
        __syncwarp();
        score[s] = best + emission[s * 8 + seen[t]];
        from[t * 32 + s] = at;
        __syncwarp();
    }
    last[s] = score[s];
}
