// The largest value of each row and its place; a block is one warp.
extern "C" __global__ void argmax_rows(const float *x, float *best, int *place, int n) {
    const float *row = x + blockIdx.x * n;
    float m = -INFINITY;
    int at = -1;
    for (int i = threadIdx.x; i < n; i += 32)
        if (row[i] > m) { m = row[i]; at = i; }
    for (int k = 16; k; k >>= 1) {
        float other = __shfl_xor_sync(~0u, m, k);
        int where = __shfl_xor_sync(~0u, at, k);
        if (other > m || (other == m && where < at)) { m = other; at = where; }
    }
    if (threadIdx.x == 0) { best[blockIdx.x] = m; place[blockIdx.x] = at; }
}
