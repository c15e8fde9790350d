// Tridiagonal systems by parallel cyclic reduction in shared memory, one a block.
extern "C" __global__ void cyclic_reduction(const float *a, const float *b, const float *c, const float *d, float *x) {
    __shared__ float la[128], lb[128], lc[128], ld[128];
    const int n = 128;
    int i = threadIdx.x, o = blockIdx.x * n;
    la[i] = a[o + i], lb[i] = b[o + i], lc[i] = c[o + i], ld[i] = d[o + i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2) {
        int l = max(i - step, 0), r = min(i + step, n - 1);
        float k1 = i - step >= 0 ? la[i] / lb[l] : 0.f, k2 = i + step < n ? lc[i] / lb[r] : 0.f;
        float nb = lb[i] - lc[l] * k1 - la[r] * k2, nd = ld[i] - ld[l] * k1 - ld[r] * k2, na = -la[l] * k1, nc = -lc[r] * k2;
        __syncthreads();
        la[i] = na, lb[i] = nb, lc[i] = nc, ld[i] = nd;
        __syncthreads();
    }
    x[o + i] = ld[i] / lb[i];
}
