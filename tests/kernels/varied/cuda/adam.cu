// A step of the Adam optimiser.
extern "C" __global__ void adam(float *w, const float *g, float *m, float *v, int n, float rate, float b1, float b2, float eps, float c1, float c2) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float d = g[i], a = b1 * m[i] + (1 - b1) * d, b = b2 * v[i] + (1 - b2) * d * d;
        m[i] = a;
        v[i] = b;
        w[i] -= rate * (a / c1) / (sqrtf(b / c2) + eps);
    }
}
