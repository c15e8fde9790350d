// One tridiagonal system a thread, by elimination and substitution.
extern "C" __global__ void tridiagonal(const float *a, const float *b, const float *c, float *d, float *work, int n, int systems) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= systems) return;
    float cc = c[j] / b[j], dd = d[j] / b[j];
    work[j] = cc, d[j] = dd;
    for (int i = 1; i < n; i++) {
        int q = i * systems + j;
        float w = 1.f / (b[q] - a[q] * cc);
        cc = c[q] * w, dd = (d[q] - a[q] * dd) * w;
        work[q] = cc, d[q] = dd;
    }
    for (int i = n - 2; i >= 0; i--) {
        int q = i * systems + j;
        dd = d[q] - work[q] * dd;
        d[q] = dd;
    }
}
