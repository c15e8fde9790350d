#ifdef __CUDACC__
#define HD __device__ __noinline__
#else
#define HD
#include "case.h"
#endif
HD int add(int a, int b) { return a + b; }
HD int sub(int a, int b) { return a - b; }
HD int mul(int a, int b) { return a * b; }
HD int mix(int a, int b) { return (a ^ b) * 31 + (a % (b | 1)); }
typedef int (*Op)(int, int);
#ifdef __CUDACC__
__device__ Op table[4] = {add, sub, mul, mix};
extern "C" __global__ void funcptr(const int *a, const int *b, int *out) {
    int t = threadIdx.x;
    Op f = table[(t * 7 >> 1) & 3];
    int v = f(a[t], b[t]);
    out[t] = table[v & 3](v, t);
}
#else
int main() {
    Lcg g(14); Op table[4] = {add, sub, mul, mix};
    std::vector<int32_t> a(64), b(64), w(64);
    for (int t = 0; t < 64; t++) { a[t] = g.next() % 1000; b[t] = (int)(g.next() % 1000) - 500; int v = table[(t * 7 >> 1) & 3](a[t], b[t]); w[t] = table[v & 3](v, t); }
    Case c("funcptr", 1, 64); c.input(a); c.input(b); c.output(w); c.done();
}
#endif
