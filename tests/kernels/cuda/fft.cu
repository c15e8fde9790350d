#ifdef __CUDACC__
extern "C" __global__ void fft(const float2 *in, float2 *out) {
    __shared__ float2 s[64];
    int t = threadIdx.x;
    s[__brev(t) >> 26] = in[t];
    __syncthreads();
    for (int half = 1; half < 64; half *= 2) {
        if (t < 32) {
            int k = t & (half - 1), i = ((t - k) << 1) + k;
            float sn, cs;
            sincospif(-(float)k / half, &sn, &cs);
            float2 a = s[i], b = s[i + half];
            float2 w = make_float2(b.x * cs - b.y * sn, b.x * sn + b.y * cs);
            s[i] = make_float2(a.x + w.x, a.y + w.y);
            s[i + half] = make_float2(a.x - w.x, a.y - w.y);
        }
        __syncthreads();
    }
    out[t] = s[t];
}
#else
#include "case.h"
int main() {
    Lcg g(11); std::vector<float> x(128), w(128);
    for (auto &v : x) v = g.unit() + 0.5f;
    for (int k = 0; k < 64; k++) {
        double re = 0, im = 0;
        for (int n = 0; n < 64; n++) { double a = -2 * M_PI * k * n / 64; re += x[2 * n] * cos(a) - x[2 * n + 1] * sin(a); im += x[2 * n] * sin(a) + x[2 * n + 1] * cos(a); }
        w[2 * k] = re; w[2 * k + 1] = im;
    }
    Case c("fft", 1, 64); c.input(x); c.output(w, 1e-3); c.done();
}
#endif
