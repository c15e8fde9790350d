// Four octaves of Perlin's noise with a table of 256 places.
__device__ float fade(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }
__device__ float slope(int h, float x, float y) {
    float u = h & 1 ? -x : x, v = h & 2 ? -y : y;
    return h & 4 ? u + v : (h & 8 ? u : v);
}
__device__ float noise(const unsigned char *p, float x, float y) {
    float fx = floorf(x), fy = floorf(y);
    int i = (int)fx & 255, j = (int)fy & 255;
    x -= fx;
    y -= fy;
    float u = fade(x), v = fade(y);
    int a = p[i] + j, b = p[(i + 1) & 255] + j;
    float s = slope(p[a & 255], x, y), t = slope(p[b & 255], x - 1, y);
    float q = slope(p[(a + 1) & 255], x, y - 1), r = slope(p[(b + 1) & 255], x - 1, y - 1);
    float low = s + u * (t - s), high = q + u * (r - q);
    return low + v * (high - low);
}
extern "C" __global__ void gradient_noise(const unsigned char *table, float *out, int w, float step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float f = step, a = 1, s = 0;
    for (int o = 0; o < 4; o++) {
        s += a * noise(table, x * f, y * f);
        f *= 2;
        a *= 0.5f;
    }
    out[y * w + x] = s;
}
