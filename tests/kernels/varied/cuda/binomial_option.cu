// A tree of 64 steps in shared memory, one option a block.
extern "C" __global__ void binomial_option(const float *spot, float *out, float strike, float up, float p, float discount) {
    __shared__ float v[65];
    int t = threadIdx.x;
    float s = spot[blockIdx.x];
    for (int k = t; k <= 64; k += 32) v[k] = fmaxf(s * powf(up, 2.0f * k - 64.0f) - strike, 0.0f);
    for (int step = 64; step > 0; step--) {
        __syncthreads();
        float a = 0, b = 0;
        if (t < step) a = discount * (p * v[t + 1] + (1 - p) * v[t]);
        if (t + 32 < step) b = discount * (p * v[t + 33] + (1 - p) * v[t + 32]);
        __syncthreads();
        if (t < step) v[t] = a;
        if (t + 32 < step) v[t + 32] = b;
    }
    __syncthreads();
    if (t == 0) out[blockIdx.x] = v[0];
}
