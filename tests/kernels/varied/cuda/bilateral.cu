// Bilateral filter of an image, 5 by 5, edges repeated.
extern "C" __global__ void bilateral(const float *in, float *out, int w, int h, float space, float range) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float centre = in[y * w + x], sum = 0, weights = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            int u = min(max(x + dx, 0), w - 1), v = min(max(y + dy, 0), h - 1);
            float p = in[v * w + u], d = p - centre;
            float k = __expf(-(dx * dx + dy * dy) * space - d * d * range);
            sum += k * p;
            weights += k;
        }
    out[y * w + x] = sum / weights;
}
