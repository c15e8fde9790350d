// Prices of options.
__device__ float normal(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
extern "C" __global__ void black_scholes(const float *spot, const float *strike, const float *years, float *call, float *put, float rate, float sigma) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = spot[i], k = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (logf(s / k) + (rate + 0.5f * sigma * sigma) * t) / (sigma * root), d2 = d1 - sigma * root;
    float discount = expf(-rate * t);
    call[i] = s * normal(d1) - k * discount * normal(d2);
    put[i] = k * discount * normal(-d2) - s * normal(-d1);
}
