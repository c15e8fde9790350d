// A cascade of four second-order filters over time, a channel a thread, samples of all channels side by side.
extern "C" __global__ void biquad_cascade(const float *x, float *y, const float *coefficients, int channels, int samples) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    float s1[4] = {0, 0, 0, 0}, s2[4] = {0, 0, 0, 0};
    for (int t = 0; t < samples; t++) {
        float v = x[t * channels + c];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float *f = coefficients + k * 5;
            float out = f[0] * v + s1[k];
            s1[k] = f[1] * v - f[3] * out + s2[k];
            s2[k] = f[2] * v - f[4] * out;
            v = out;
        }
        y[t * channels + c] = v;
    }
}
