#ifdef __CUDACC__
extern "C" __global__ void softmax(const float *in, float *out, int n) {
    const float *row = in + blockIdx.x * n;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, row[i]);
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 32) s += expf(row[i] - m);
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = expf(row[i] - m) / s;
}
#else
#include "case.h"
int main() {
    Lcg g(10); int rows = 3, n = 77;
    std::vector<float> x(rows * n), w(rows * n);
    for (auto &v : x) v = g.unit() * 20 - 10;
    for (int r = 0; r < rows; r++) {
        double m = -1e30, s = 0;
        for (int i = 0; i < n; i++) m = fmax(m, x[r * n + i]);
        for (int i = 0; i < n; i++) s += exp(x[r * n + i] - m);
        for (int i = 0; i < n; i++) w[r * n + i] = exp(x[r * n + i] - m) / s;
    }
    Case c("softmax", rows, 32); c.input(x); c.output(w, 3e-6); c.scalar(n); c.done();
}
#endif
