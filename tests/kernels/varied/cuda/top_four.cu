// The four largest of a row in order; a warp a row: each thread keeps its largest, then the warp takes one at a time.
extern "C" __global__ void top_four(const float *x, float *values, int *places, int n) {
    const float *row = x + blockIdx.x * n;
    float v[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    int at[4] = {-1, -1, -1, -1};
    for (int i = threadIdx.x; i < n; i += 32) {
        float a = row[i];
        int p = i;
        for (int k = 0; k < 4; k++)
            if (a > v[k]) { float t = v[k]; v[k] = a; a = t; int u = at[k]; at[k] = p; p = u; }
    }
    for (int k = 0; k < 4; k++) {
        float best = v[0];
        int where = at[0];
        for (int m = 16; m; m >>= 1) {
            float other = __shfl_xor_sync(~0u, best, m);
            int o = __shfl_xor_sync(~0u, where, m);
            if (other > best || (other == best && o < where)) { best = other; where = o; }
        }
        if (where == at[0]) { v[0] = v[1]; v[1] = v[2]; v[2] = v[3]; v[3] = -INFINITY; at[0] = at[1]; at[1] = at[2]; at[2] = at[3]; at[3] = 1 << 30; }
        if (threadIdx.x == 0) { values[blockIdx.x * 4 + k] = best; places[blockIdx.x * 4 + k] = where; }
    }
}
