#ifdef __CUDACC__
extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
#else
#include "case.h"
int main() {
    Lcg g(1); int n = 200;
    std::vector<float> x(n), y(n), w(n);
    for (int i = 0; i < n; i++) { x[i] = g.unit() * 8 - 4; y[i] = g.unit(); w[i] = fmaf(2.5f, x[i], y[i]); }
    Case c("saxpy", 2, 128); c.input(x); c.output(y, w); c.scalar(2.5f); c.scalar(n); c.done();
}
#endif
