#ifdef __CUDACC__
extern "C" __global__ void collatz(int *steps, unsigned long long *peak) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long n = t + 1, m = n;
    int s = 0;
    while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; if (n > m) m = n; s++; }
    steps[t] = s; peak[t] = m;
}
#else
#include "case.h"
int main() {
    std::vector<int32_t> st(96); std::vector<uint64_t> pk(96);
    for (int t = 0; t < 96; t++) { uint64_t n = t + 1, m = n; int s = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; if (n > m) m = n; s++; } st[t] = s; pk[t] = m; }
    Case c("collatz", 3, 32); c.output(st); c.output(pk); c.done();
}
#endif
