// Router of a mixture of experts: softmax over eight scores, the best two, and their places behind those before in the block.
extern "C" __global__ void gate_top2(const float *score, float2 *weight, int2 *expert, int *count, int n) {
    __shared__ int mine[8];
    if (threadIdx.x < 8) mine[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s[8], high = -1e30f, sum = 0;
        for (int e = 0; e < 8; e++) { s[e] = score[i * 8 + e]; high = fmaxf(high, s[e]); }
        for (int e = 0; e < 8; e++) { s[e] = __expf(s[e] - high); sum += s[e]; }
        int a = 0, b = -1;
        for (int e = 1; e < 8; e++) if (s[e] > s[a]) a = e;
        float best = s[0], next = -1;
        for (int e = 1; e < 8; e++) best = fmaxf(best, s[e]);
        for (int e = 0; e < 8; e++) if (e != a && s[e] > next) { next = s[e]; b = e; }
        float t = 1 / (best + next);
        weight[i] = make_float2(best * t, next * t);
        expert[i] = make_int2(a, b);
        atomicAdd(&mine[a], 1);
        atomicAdd(&mine[b], 1);
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(count + threadIdx.x, mine[threadIdx.x]);
}
