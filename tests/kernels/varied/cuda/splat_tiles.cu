// Colours of a tile of pixels from sorted ellipses, in groups of 64 through shared memory, until all pixels are opaque.
extern "C" __global__ void splat_tiles(const float2 *centre, const float4 *conic, const float *colour, const int2 *span, float *image, int width, int pixels) {
    __shared__ float2 c[64];
    __shared__ float4 e[64];
    __shared__ float rgb[64][3];
    int tile = blockIdx.y * gridDim.x + blockIdx.x, me = threadIdx.y * 8 + threadIdx.x;
    int px = blockIdx.x * 8 + threadIdx.x, py = blockIdx.y * 8 + threadIdx.y;
    int2 s = span[tile];
    float t = 1, r = 0, g = 0, b = 0;
    bool done = false;
    for (int first = s.x; first < s.y; first += 64) {
        if (__syncthreads_count(done) == 64) break;
        if (first + me < s.y) {
            c[me] = centre[first + me];
            e[me] = conic[first + me];
            for (int k = 0; k < 3; k++) rgb[me][k] = colour[(first + me) * 3 + k];
        }
        __syncthreads();
        for (int k = 0; !done && k < min(64, s.y - first); k++) {
            float dx = c[k].x - px, dy = c[k].y - py;
            float power = -0.5f * (e[k].x * dx * dx + e[k].z * dy * dy) - e[k].y * dx * dy;
            if (power > 0) continue;
            float alpha = fminf(0.99f, e[k].w * __expf(power));
            if (alpha < 1.0f / 255) continue;
            float left = t * (1 - alpha);
            if (left < 0.0001f) { done = true; continue; }
            r += rgb[k][0] * alpha * t;
            g += rgb[k][1] * alpha * t;
            b += rgb[k][2] * alpha * t;
            t = left;
        }
    }
    int at = py * width + px;
    image[at] = r;
    image[pixels + at] = g;
    image[2 * pixels + at] = b;
}
