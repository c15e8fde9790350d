// The loss of rows of numbers for given classes, in one pass over the row.
extern "C" __global__ void cross_entropy(const float *x, const int *label, float *loss, int n) {
    const float *row = x + blockIdx.x * n;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float v = row[i], m = fmaxf(top, v);
        sum = sum * __expf(top - m) + __expf(v - m);
        top = m;
    }
    for (int k = 16; k; k >>= 1) {
        float other = __shfl_xor_sync(~0u, top, k), more = __shfl_xor_sync(~0u, sum, k), m = fmaxf(top, other);
        sum = sum * __expf(top - m) + more * __expf(other - m);
        top = m;
    }
    if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + top - row[label[blockIdx.x]];
}
