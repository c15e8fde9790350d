// Product of signed bytes by dp4a with a scale a column.
extern "C" __global__ void gemm_bytes(const int *a, const int *b, const float *scale, float *c, int n, int words) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    int s = 0;
    for (int k = 0; k < words; k++) s = __dp4a(a[row * words + k], b[col * words + k], s);
    c[row * n + col] = s * scale[col];
}
