#ifdef __CUDACC__
#define HD __device__ __noinline__
#else
#define HD
#include "case.h"
#endif
HD int ackermann(int m, int n) { if (m == 0) return n + 1; if (n == 0) return ackermann(m - 1, 1); return ackermann(m - 1, ackermann(m, n - 1)); }
HD long long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
#ifdef __CUDACC__
extern "C" __global__ void recursion(int *a, long long *f) {
    int t = threadIdx.x;
    a[t] = ackermann(t & 1, t >> 2);
    f[t] = fib(t % 9) + t;
}
#else
int main() {
    std::vector<int32_t> a(32); std::vector<int64_t> f(32);
    for (int t = 0; t < 32; t++) { a[t] = ackermann(t & 1, t >> 2); f[t] = fib(t % 9) + t; }
    Case c("recursion", 1, 32); c.output(a); c.output(f); c.done();
}
#endif
