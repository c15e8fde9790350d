// A sparse matrix times a vector, one warp a row.
extern "C" __global__ void csr_vector(const int *start, const int *column, const float *value, const float *x, float *y) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
    float s = 0;
    for (int k = start[row] + lane; k < start[row + 1]; k += 32) s += value[k] * x[column[k]];
    for (int k = 16; k; k >>= 1) s += __shfl_down_sync(~0u, s, k);
    if (lane == 0) y[row] = s;
}
