// A matrix times a vector, one warp a row, in vectors of four.
extern "C" __global__ void gemv_warp(const float4 *__restrict__ a, const float4 *__restrict__ x, float *y, int n4, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float s = 0;
    for (int i = lane; i < n4; i += 32) {
        float4 p = a[row * n4 + i], q = x[i];
        s += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (!lane) y[row] = s;
}
