// An image of floats at another size, by bicubic interpolation; places outside take the nearest inside.
__device__ void weights(float t, float *w) {
    const float a = -0.75f;
    w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
    w[3] = 1 - w[0] - w[1] - w[2];
}
extern "C" __global__ void bicubic(const float *x, float *y, int w, int h, int ow, int oh) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= ow) return;
    float u = (i + 0.5f) * w / ow - 0.5f, v = (j + 0.5f) * h / oh - 0.5f;
    int iu = floorf(u), iv = floorf(v);
    float wu[4], wv[4], s = 0;
    weights(u - iu, wu);
    weights(v - iv, wv);
    for (int b = 0; b < 4; b++) {
        const float *row = x + min(max(iv - 1 + b, 0), h - 1) * w;
        float r = 0;
        for (int a = 0; a < 4; a++) r += wu[a] * row[min(max(iu - 1 + a, 0), w - 1)];
        s += wv[b] * r;
    }
    y[j * ow + i] = s;
}
