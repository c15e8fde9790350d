// Convolution 3x3 of signed bytes, channels last, with four channels a product; scaled, biased, rounded and clamped to bytes again.
extern "C" __global__ void bytes_conv(const int *x, const int *w, const int *bias, const float *scale, signed char *out, int height, int width, int quads, int filters, int zero) {
    int f = threadIdx.x, col = blockIdx.x * blockDim.y + threadIdx.y, row = blockIdx.y;
    if (col >= width || f >= filters) return;
    int sum = bias[f];
    for (int dy = -1; dy <= 1; dy++) {
        int y = row + dy;
        if (y < 0 || y >= height) continue;
#pragma unroll
        for (int dx = -1; dx <= 1; dx++) {
            int c = col + dx;
            if (c < 0 || c >= width) continue;
            const int *a = x + (y * width + c) * quads, *b = w + ((f * 3 + dy + 1) * 3 + dx + 1) * quads;
            for (int k = 0; k < quads; k++) {
#if __CUDA_ARCH__ >= 610
                sum = __dp4a(a[k], b[k], sum);
#endif
            }
        }
    }
    int v = __float2int_rn(sum * scale[f]) + zero;
    out[(row * width + col) * filters + f] = min(max(v, -128), 127);
}
