// A sparse matrix of dense blocks of 4 x 4 times a vector; eight lanes a row of blocks.
extern "C" __global__ void bsr_product(const int *first, const int *column, const float4 *value, const float4 *x, float4 *y, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, row = t / 8, lane = t % 8;
    if (row >= rows) return;
    float4 s = make_float4(0, 0, 0, 0);
    for (int k = first[row] + lane; k < first[row + 1]; k += 8) {
        float4 v = x[column[k]];
        const float4 *a = value + 4 * k;
        s.x += a[0].x * v.x + a[0].y * v.y + a[0].z * v.z + a[0].w * v.w;
        s.y += a[1].x * v.x + a[1].y * v.y + a[1].z * v.z + a[1].w * v.w;
        s.z += a[2].x * v.x + a[2].y * v.y + a[2].z * v.z + a[2].w * v.w;
        s.w += a[3].x * v.x + a[3].y * v.y + a[3].z * v.z + a[3].w * v.w;
    }
    unsigned mask = 255u << (threadIdx.x & 24);
    for (int d = 4; d; d >>= 1) {
        s.x += __shfl_down_sync(mask, s.x, d, 8);
        s.y += __shfl_down_sync(mask, s.y, d, 8);
        s.z += __shfl_down_sync(mask, s.z, d, 8);
        s.w += __shfl_down_sync(mask, s.w, d, 8);
    }
    if (lane == 0) y[row] = s;
}
