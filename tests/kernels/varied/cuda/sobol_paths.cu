// Mean payoffs of paths from Sobol numbers: a thread a path, a dimension a step.
extern "C" __global__ void sobol_paths(const unsigned *direction, float *payoff, int n, int steps, float drift, float spread, float strike) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = 0, sum = 0;
        unsigned gray = i ^ i >> 1;
        for (int d = 0; d < steps; d++) {
            unsigned v = 0;
            for (unsigned g = gray, k = 0; g; g >>= 1, k++)
                if (g & 1) v ^= direction[d * 32 + k];
            float u = (v + 0.5f) * 2.3283064365386963e-10f;
            s += drift + spread * normcdfinvf(fminf(u, 0.99999994f));
            sum += __expf(s);
        }
        payoff[i] = fmaxf(sum / steps - strike, 0.0f);
    }
}
