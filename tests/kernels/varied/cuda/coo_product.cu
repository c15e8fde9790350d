// Sparse matrix by vector, the matrix as sorted triples: each warp takes 32 triples at a time and adds up equal rows by shuffles.
extern "C" __global__ void coo_product(const int *row, const int *column, const float *value, const float *x, float *y, int entries) {
    int lane = threadIdx.x & 31;
    int warps = gridDim.x * blockDim.x / 32;
    for (int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32; at < entries; at += warps * 32) {
        int k = at + lane;
        int r = k < entries ? row[k] : -1;
        float s = k < entries ? value[k] * x[column[k]] : 0.0f;
        for (int d = 1; d < 32; d *= 2) {
            float other = __shfl_up_sync(0xffffffffu, s, d);
            int there = __shfl_up_sync(0xffffffffu, r, d);
            if (lane >= d && there == r) s += other;
        }
        int next = __shfl_down_sync(0xffffffffu, r, 1);
        if (r >= 0 && (lane == 31 || next != r)) atomicAdd(&y[r], s);
    }
}
