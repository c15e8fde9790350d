// Normalises groups of channels (channels last), with SiLU; a block a group of an image.
extern "C" __global__ void group_norm(const float *x, const float *gamma, const float *beta, float *y, int channels, int group, int places, float eps) {
    __shared__ float sums[2][32];
    int base = blockIdx.y * places * channels + blockIdx.x * group, n = places * group;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float v = x[base + i / group * channels + i % group];
        s += v;
        q += v * v;
    }
    for (int d = 16; d; d >>= 1) {
        s += __shfl_xor_sync(~0u, s, d);
        q += __shfl_xor_sync(~0u, q, d);
    }
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) { sums[0][warp] = s; sums[1][warp] = q; }
    __syncthreads();
    s = q = 0;
    for (int k = 0; k < blockDim.x / 32; k++) { s += sums[0][k]; q += sums[1][k]; }
    float mean = s / n, r = rsqrtf(q / n - mean * mean + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int c = i % group, at = base + i / group * channels + c;
        float v = (x[at] - mean) * r * gamma[blockIdx.x * group + c] + beta[blockIdx.x * group + c];
        y[at] = v / (1 + __expf(-v));
    }
}
