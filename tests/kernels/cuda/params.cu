#ifdef __CUDACC__
#define G __global__
#else
#define G
#include "case.h"
#endif
struct S { char a; short b; int c[3]; double d; long long e[2]; };
#ifdef __CUDACC__
__device__ __noinline__ double use(S s, int i) { s.c[i % 3] += i; return s.a + s.b * 2 + s.c[0] * 3 + s.c[1] * 5 + s.c[2] * 7 + s.d * 11 + s.e[0] * 13 + s.e[1] * 17; }
extern "C" __global__ void params(char a, S s, short b, double *out, const __grid_constant__ S t) { int i = threadIdx.x; out[i] = use(s, i) + a * 100 + b * 1000 + t.c[i % 3] + use(t, i); }
#else
static double use(S s, int i) { s.c[i % 3] += i; return s.a + s.b * 2 + s.c[0] * 3 + s.c[1] * 5 + s.c[2] * 7 + s.d * 11 + s.e[0] * 13 + s.e[1] * 17; }
int main() {
    S s, t; memset(&s, 0, sizeof s); memset(&t, 0, sizeof t);
    s.a = -3; s.b = 700; s.c[0] = 1; s.c[1] = -2; s.c[2] = 3; s.d = 2.5; s.e[0] = 1ll << 33; s.e[1] = -9;
    t.a = 5; t.b = -70; t.c[0] = 10; t.c[1] = 20; t.c[2] = -30; t.d = -0.5; t.e[0] = -(1ll << 34); t.e[1] = 99;
    std::vector<double> w(32);
    for (int i = 0; i < 32; i++) w[i] = use(s, i) + -7 * 100 + 1234 * 1000 + t.c[i % 3] + use(t, i);
    Case c("params", 1, 32); uint8_t a = (uint8_t)-7; c.scalar(a); c.bytes(s); uint16_t b = 1234; c.scalar(b); c.output(w); c.bytes(t); c.done();
}
#endif
