// Motion between two images of bytes by least squares over windows of 5x5 (Lucas and Kanade), gradients in shared memory.
extern "C" __global__ void optical_flow(const unsigned char *a, const unsigned char *b, float2 *flow, int width, int height) {
    __shared__ short gx[12][36], gy[12][36], gt[12][36];
    int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 8 - 2;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 12 * 36; k += 256) {
        int j = k / 36, i = k % 36;
        int x = min(max(x0 + i, 1), width - 2), y = min(max(y0 + j, 1), height - 2);
        const unsigned char *p = a + y * width + x;
        gx[j][i] = p[1] - p[-1];
        gy[j][i] = p[width] - p[-width];
        gt[j][i] = b[y * width + x] - p[0];
    }
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    int xx = 0, xy = 0, yy = 0, xt = 0, yt = 0;
    for (int j = 0; j < 5; j++)
#pragma unroll
        for (int i = 0; i < 5; i++) {
            int u = gx[threadIdx.y + j][threadIdx.x + i], v = gy[threadIdx.y + j][threadIdx.x + i], t = gt[threadIdx.y + j][threadIdx.x + i];
            xx += u * u;
            xy += u * v;
            yy += v * v;
            xt += u * t;
            yt += v * t;
        }
    float det = (float)xx * yy - (float)xy * xy;
    float2 f = make_float2(0, 0);
    if (det > 1e4f) f = make_float2(2 * ((float)xy * yt - (float)yy * xt) / det, 2 * ((float)xy * xt - (float)xx * yt) / det);
    flow[y * width + x] = f;
}
