// Steps along rays towards a sphere and a plane.
extern "C" __global__ void ray_march(float *depth, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float dx = (x - w * 0.5f) / w, dy = (y - h * 0.5f) / h, dz = 1.0f, n = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz);
    dx *= n; dy *= n; dz *= n;
    float t = 0;
    for (int k = 0; k < 48; k++) {
        float px = dx * t, py = dy * t, pz = dz * t - 3.0f;
        float d = fminf(sqrtf(px * px + py * py + pz * pz) - 1.0f, py + 1.5f);
        t += d;
        if (d < 0.01f || t > 20.0f) break;
    }
    depth[y * w + x] = t;
}
