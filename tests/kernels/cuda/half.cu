#ifdef __CUDACC__
#include <cuda_fp16.h>
extern "C" __global__ void half_kernel(const unsigned short *a, const unsigned short *b, unsigned short *o, float *f) {
    int i = threadIdx.x;
    __half x = __ushort_as_half(a[i]), y = __ushort_as_half(b[i]);
    o[i] = __half_as_ushort(__hadd(x, y)); o[i + 64] = __half_as_ushort(__hmul(x, y)); o[i + 128] = __half_as_ushort(__hfma(x, y, x));
    o[i + 192] = __hlt(x, y) ? 1 : 0; o[i + 256] = __half_as_ushort(__float2half_rn(__half2float(x) * 1.5f));
    __half2 p = __halves2half2(x, y); p = __hmul2(__hadd2(p, p), p);
    o[i + 320] = __half_as_ushort(__low2half(p)); o[i + 384] = __half_as_ushort(__high2half(p));
    f[i] = __half2float(x);
}
#else
#include "case.h"
typedef _Float16 H;
static H h(uint16_t v) { H r; memcpy(&r, &v, 2); return r; }
static uint16_t u(double v) { H r = (H)v; uint16_t x; memcpy(&x, &r, 2); return r != r ? 0x7fff : x; }
int main() {
    Lcg g(18); std::vector<uint16_t> a(64), b(64), o(448); std::vector<float> f(64);
    uint16_t sp[] = {0, 0x8000, 1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0xfc00, 0x3c00, 0xbc01};
    for (int i = 0; i < 64; i++) {
        a[i] = i < 30 ? sp[i % 10] : g.next(); b[i] = i < 30 ? sp[(i / 3) % 10] : g.next();
        if ((a[i] & 0x7fff) > 0x7c00) a[i] = 0x4248; if ((b[i] & 0x7fff) > 0x7c00) b[i] = 0x3555;
        double x = h(a[i]), y = h(b[i]);
        o[i] = u(x + y); o[i + 64] = u(x * y); o[i + 128] = u(x * y + x); o[i + 192] = x < y; o[i + 256] = u(x * 1.5);
        double dx = h(u(x + x)), dy = h(u(y + y)); o[i + 320] = u(dx * x); o[i + 384] = u(dy * y);
        f[i] = x;
    }
    Case c("half_kernel", 1, 64); c.input(a); c.input(b); c.output(o); c.output(f); c.done();
}
#endif
