#ifdef __CUDACC__
extern "C" __global__ void spmv(const int *start, const int *col, const double *val, const double *x, double *y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double s = 0;
    for (int k = start[r]; k < start[r + 1]; k++) s = fma(val[k], x[col[k]], s);
    y[r] = s;
}
#else
#include "case.h"
int main() {
    Lcg g(12); int n = 50;
    std::vector<int32_t> st(1), col; std::vector<double> val, x(n), y(n);
    for (auto &v : x) v = g.unit() - 0.5;
    for (int r = 0; r < n; r++) { int k = g.next() % 7; double s = 0; while (k--) { int c = g.next() % n; double v = g.unit(); col.push_back(c); val.push_back(v); s = fma(v, x[c], s); } y[r] = s; st.push_back(col.size()); }
    Case c("spmv", 2, 32); c.input(st); c.input(col); c.input(val); c.input(x); c.output(y); c.scalar(n); c.done();
}
#endif
