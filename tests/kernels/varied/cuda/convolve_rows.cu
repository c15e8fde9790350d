// Convolution of rows with nine weights, through shared memory.
extern "C" __global__ void convolve_rows(const float *in, const float *weight, float *out, int w) {
    __shared__ float line[128 + 8];
    int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y;
    for (int i = threadIdx.x; i < 136; i += 128) {
        int u = blockIdx.x * 128 + i - 4;
        line[i] = u >= 0 && u < w ? in[y * w + u] : 0.0f;
    }
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 9; k++) s += line[threadIdx.x + k] * weight[k];
    if (x < w) out[y * w + x] = s;
}
