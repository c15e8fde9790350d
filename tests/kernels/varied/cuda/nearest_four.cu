// The squared distances of the four nearest of m points in three dimensions, for each of n points.
extern "C" __global__ void nearest_four(const float *q, const float *p, float4 *best, int *nearest, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = q[3 * i], y = q[3 * i + 1], z = q[3 * i + 2];
    float a = 1e30f, b = 1e30f, c = 1e30f, d = 1e30f;
    int at = -1;
    for (int k = 0; k < m; k++) {
        float u = p[3 * k] - x, v = p[3 * k + 1] - y, w = p[3 * k + 2] - z;
        float s = u * u + v * v + w * w;
        if (s < d) {
            if (s < c) { d = c; if (s < b) { c = b; if (s < a) { b = a; a = s; at = k; } else b = s; } else c = s; }
            else d = s;
        }
    }
    best[i] = make_float4(a, b, c, d);
    nearest[i] = at;
}
