#ifdef __CUDACC__
extern __shared__ float dyn[];
extern "C" __global__ void dynshared(const float *in, float *out, int n) {
    float *a = dyn; int *b = (int *)(dyn + n);
    int t = threadIdx.x;
    a[t] = in[t]; b[t] = n - 1 - t;
    __syncthreads();
    float s = 0;
    for (int k = 0; k <= t; k++) s += a[b[k]];
    out[t] = s;
}
#else
#include "case.h"
int main() {
    Lcg g(21); int n = 48; std::vector<float> x(n), w(n);
    for (auto &v : x) v = (int)(g.next() % 100);
    float s = 0; for (int t = 0; t < n; t++) { s += x[n - 1 - t]; w[t] = s; }
    Case c("dynshared", 1, n, n * 8); c.input(x); c.output(w); c.scalar(n); c.done();
}
#endif
