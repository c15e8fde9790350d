// A sparse matrix in slices of 32 rows, each as wide as its longest row, columns as halves of 16 bits from a base, times a vector.
extern "C" __global__ void sliced_product(const int *slice, const int *base, const unsigned short *delta, const float *value, const int *order, const float *x, float *y, int rows, float alpha, float beta) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int s = row >> 5, lane = row & 31;
    if (row >= rows) return;
    float sum = 0;
    int from = base[s];
    for (int k = slice[s] + lane; k < slice[s + 1]; k += 32) {
        unsigned short d = delta[k];
        if (d != 0xffff) sum += value[k] * x[from + d];
    }
    int to = order[row];
    y[to] = alpha * sum + beta * y[to];
}
