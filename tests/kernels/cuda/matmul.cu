#ifdef __CUDACC__
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float sa[8][8], sb[8][9];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        sa[y][x] = a[row * n + k + x];
        sb[y][x] = b[(k + y) * n + col];
        __syncthreads();
        for (int i = 0; i < 8; i++) sum = fmaf(sa[y][i], sb[i][x], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}
#else
#include "case.h"
int main() {
    Lcg g(5); int n = 24;
    std::vector<float> a(n * n), b(n * n), w(n * n);
    for (auto &v : a) v = g.unit() - 0.5f;
    for (auto &v : b) v = g.unit() - 0.5f;
    for (int r = 0; r < n; r++) for (int c = 0; c < n; c++) { float s = 0; for (int k = 0; k < n; k++) s = fmaf(a[r * n + k], b[k * n + c], s); w[r * n + c] = s; }
    Case c("matmul", 3, 8, 0, 3, 8); c.input(a); c.input(b); c.output(w); c.scalar(n); c.done();
}
#endif
