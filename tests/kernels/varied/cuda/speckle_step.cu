// One step of diffusion against speckle: coefficients of a tile and its right and lower border, then divergences.
__device__ float coefficient(const float *g, int x, int y, int w, int h, float q0) {
    float c = g[y * w + x];
    float n = g[max(y - 1, 0) * w + x] - c, s = g[min(y + 1, h - 1) * w + x] - c, l = g[y * w + max(x - 1, 0)] - c, r = g[y * w + min(x + 1, w - 1)] - c;
    float g2 = (n * n + s * s + l * l + r * r) / (c * c), lap = (n + s + l + r) / c;
    float num = 0.5f * g2 - 0.0625f * lap * lap, den = 1.0f + 0.25f * lap, q = num / (den * den);
    return __saturatef(1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0))));
}
extern "C" __global__ void speckle_step(const float *g, float *out, int w, int h, float q0, float lambda) {
    __shared__ float c[9][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int cx = min(x, w - 1), cy = min(y, h - 1);
    c[threadIdx.y][threadIdx.x] = coefficient(g, cx, cy, w, h, q0);
    if (threadIdx.x == 0) c[threadIdx.y][32] = coefficient(g, min(x + 32, w - 1), cy, w, h, q0);
    if (threadIdx.y == 0) c[8][threadIdx.x] = coefficient(g, cx, min(y + 8, h - 1), w, h, q0);
    __syncthreads();
    if (x >= w || y >= h) return;
    float v = g[y * w + x], here = c[threadIdx.y][threadIdx.x];
    float south = y == h - 1 ? here : c[threadIdx.y + 1][threadIdx.x], east = x == w - 1 ? here : c[threadIdx.y][threadIdx.x + 1];
    float n = g[max(y - 1, 0) * w + x] - v, s = g[min(y + 1, h - 1) * w + x] - v, l = g[y * w + max(x - 1, 0)] - v, r = g[y * w + min(x + 1, w - 1)] - v;
    out[y * w + x] = v + 0.25f * lambda * (here * n + south * s + here * l + east * r);
}
