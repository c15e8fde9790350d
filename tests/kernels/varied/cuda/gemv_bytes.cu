// Product of a matrix of signed bytes with a scale a row and a vector of floats; a warp a row, 16 bytes a thread at a time.
extern "C" __global__ void gemv_bytes(const int4 *w, const float *scale, const float4 *x, float *y, int n) {
    int row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    float sum = 0;
    for (int k = lane; k < n / 16; k += 32) {
        int4 q = w[row * (n / 16) + k];
        int part[4] = {q.x, q.y, q.z, q.w};
        for (int j = 0; j < 4; j++) {
            float4 v = x[k * 4 + j];
            sum += (signed char)part[j] * v.x + (signed char)(part[j] >> 8) * v.y + (signed char)(part[j] >> 16) * v.z + (part[j] >> 24) * v.w;
        }
    }
    for (int k = 16; k; k >>= 1) sum += __shfl_down_sync(~0u, sum, k);
    if (lane == 0) y[row] = sum * scale[row];
}
