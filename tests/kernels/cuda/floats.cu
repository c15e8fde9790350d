#ifdef __CUDACC__
extern "C" __global__ void floats(const float *a, const float *b, float *o, const double *da, const double *db, double *dout, int n) {
    int i = threadIdx.x;
    o[i] = a[i] / b[i]; o[i + n] = sqrtf(a[i]); o[i + 2 * n] = 1.0f / b[i]; o[i + 3 * n] = fmaf(a[i], b[i], a[i]); o[i + 4 * n] = __fdiv_rz(a[i], b[i]);
    dout[i] = da[i] / db[i]; dout[i + n] = sqrt(da[i]); dout[i + 2 * n] = 1.0 / db[i]; dout[i + 3 * n] = fma(da[i], db[i], da[i]); dout[i + 4 * n] = (double)(float)da[i];
}
#else
#include "case.h"
#include <cfenv>
int main() {
    Lcg g(16); int n = 128;
    std::vector<float> a(n), b(n), o(5 * n); std::vector<double> da(n), db(n), d(5 * n);
    uint32_t sf[] = {0, 0x80000000u, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000u, 0x3f800000, 0xbf800001u, 0x3effffff, 0x7e800001};
    uint64_t sd[] = {0, 1ull << 63, 1, 0x000fffffffffffffull, 0x0010000000000000ull, 0x7fefffffffffffffull, 0x7ff0000000000000ull, 0xfff0000000000000ull, 0x3ff0000000000000ull, 0xbff0000000000001ull, 0x3fefffffffffffffull, 0x7fd0000000000001ull};
    for (int i = 0; i < n; i++) {
        uint32_t x = i < 48 ? sf[i % 12] : g.next() * 2 + (i & 1), y = i < 48 ? sf[(i / 4) % 12] : g.next() * 2;
        uint64_t X = i < 48 ? sd[i % 12] : ((uint64_t)g.next() << 33) ^ g.next(), Y = i < 48 ? sd[(i / 4) % 12] : ((uint64_t)g.next() << 33) ^ g.next();
        if ((x & 0x7fffffff) > 0x7f800000) x = 0x40490fdb; if ((y & 0x7fffffff) > 0x7f800000) y = 0x3eaaaaab;
        if ((X << 1) > 0xffe0000000000000ull) X = sd[8]; if ((Y << 1) > 0xffe0000000000000ull) Y = sd[9];
        memcpy(&a[i], &x, 4); memcpy(&b[i], &y, 4); memcpy(&da[i], &X, 8); memcpy(&db[i], &Y, 8);
    }
    auto nf = [](float v) { if (v != v) { uint32_t q = 0x7fffffff; memcpy(&v, &q, 4); } return v; };
    auto nd = [](double v) { if (v != v) { uint64_t q = 0xfff8000000000000ull; memcpy(&v, &q, 8); } return v; };
    for (int i = 0; i < n; i++) {
        volatile float x = a[i], y = b[i]; volatile double X = da[i], Y = db[i];
        o[i] = nf(x / y); o[i + n] = nf(sqrtf(x)); o[i + 2 * n] = nf(1.0f / y); o[i + 3 * n] = nf(fmaf(x, y, x));
        d[i] = nd(X / Y); d[i + n] = nd(sqrt(X)); d[i + 2 * n] = nd(1.0 / Y); d[i + 3 * n] = nd(fma(X, Y, X)); d[i + 4 * n] = nd((float)X);
        fesetround(FE_TOWARDZERO); volatile float z = x / y; fesetround(FE_TONEAREST); o[i + 4 * n] = nf(z);
    }
    Case c("floats", 1, 128); c.input(a); c.input(b); c.output(o); c.input(da); c.input(db); c.output(d); c.scalar(n); c.done();
}
#endif
