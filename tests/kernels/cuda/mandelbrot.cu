#ifdef __CUDACC__
extern "C" __global__ void mandelbrot(unsigned char *out, int w, int h, float scale) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= w) return;
    float cr = (x - w / 2) * scale, ci = (y - h / 2) * scale, zr = 0, zi = 0;
    int k = 0;
    for (; k < 100; k++) {
        float r2 = __fmul_rn(zr, zr), i2 = __fmul_rn(zi, zi);
        if (__fadd_rn(r2, i2) > 4.0f) break;
        zi = __fadd_rn(__fmul_rn(2.0f, __fmul_rn(zr, zi)), ci);
        zr = __fadd_rn(__fsub_rn(r2, i2), cr);
    }
    out[y * w + x] = k;
}
#else
#include "case.h"
int main() {
    int w = 40, h = 12; float scale = 0.0625f; std::vector<uint8_t> o(w * h);
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
        volatile float cr = (x - w / 2) * scale, ci = (y - h / 2) * scale, zr = 0, zi = 0; int k = 0;
        for (; k < 100; k++) { volatile float r2 = zr * zr, i2 = zi * zi, s = r2 + i2; if (s > 4.0f) break; volatile float p = zr * zi, q = 2.0f * p; zi = q + ci; volatile float d = r2 - i2; zr = d + cr; }
        o[y * w + x] = k;
    }
    Case c("mandelbrot", 2, 32, 0, h); c.output(o); c.scalar(w); c.scalar(h); c.scalar(scale); c.done();
}
#endif
