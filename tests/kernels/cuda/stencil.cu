#ifdef __CUDACC__
extern "C" __global__ void stencil(const double *in, double *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    double c = in[y * w + x];
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { out[y * w + x] = c; return; }
    out[y * w + x] = 0.25 * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]) - c / 3.0;
}
#else
#include "case.h"
int main() {
    Lcg g(8); int w = 19, h = 13;
    std::vector<double> in(w * h), out(w * h);
    for (auto &v : in) v = g.unit() * 100 - 50;
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
        double c = in[y * w + x];
        out[y * w + x] = (x == 0 || y == 0 || x == w - 1 || y == h - 1) ? c : fma(0.25, in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x], -(c / 3.0));
    }
    Case c("stencil", 3, 8, 0, 4, 4); c.input(in); c.output(out); c.scalar(w); c.scalar(h); c.done();
}
#endif
