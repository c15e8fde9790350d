#ifdef __CUDACC__
extern "C" __global__ void transpose(const short *in, short *out, int w, int h) {
    __shared__ short tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int k = 0; k < 16; k += 4) if (x < w && y + k < h) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
    for (int k = 0; k < 16; k += 4) if (x < h && y + k < w) out[(y + k) * h + x] = tile[threadIdx.x][threadIdx.y + k];
}
#else
#include "case.h"
int main() {
    Lcg g(17); int w = 21, h = 30;
    std::vector<uint16_t> in(w * h), out(w * h);
    for (auto &v : in) v = g.next();
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) out[x * h + y] = in[y * w + x];
    Case c("transpose", 2, 16, 0, 2, 4); c.input(in); c.output(out); c.scalar(w); c.scalar(h); c.done();
}
#endif
