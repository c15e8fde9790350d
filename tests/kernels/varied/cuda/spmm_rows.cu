// A sparse matrix times a dense one, a block for each row.
extern "C" __global__ void spmm_rows(const int *first, const int *column, const float *value, const float *b, float *c, int m) {
    int row = blockIdx.x;
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        float s = 0;
        for (int e = first[row]; e < first[row + 1]; e++) s += value[e] * b[column[e] * m + j];
        c[row * m + j] = s;
    }
}
