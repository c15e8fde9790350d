// Gradients of layer norm: a block a row; those of scale and shift are added over the rows.
extern "C" __global__ void layer_norm_backward(const float *x, const float *dy, const float *gamma, const float *mean, const float *rstd, float *dx, float *dgamma, float *dbeta, int n) {
    __shared__ float2 part[32];
    int row = blockIdx.x;
    x += row * n; dy += row * n; dx += row * n;
    float m = mean[row], r = rstd[row];
    float a = 0, b = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float h = (x[i] - m) * r, g = dy[i] * gamma[i];
        a += g;
        b += g * h;
        atomicAdd(dgamma + i, dy[i] * h);
        atomicAdd(dbeta + i, dy[i]);
    }
    for (int d = 16; d; d >>= 1) {
        a += __shfl_xor_sync(~0u, a, d);
        b += __shfl_xor_sync(~0u, b, d);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = make_float2(a, b);
    __syncthreads();
    a = b = 0;
    for (int k = 0; k < blockDim.x / 32; k++) { a += part[k].x; b += part[k].y; }
    a /= n;
    b /= n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) dx[i] = r * (dy[i] * gamma[i] - a - (x[i] - m) * r * b);
}
