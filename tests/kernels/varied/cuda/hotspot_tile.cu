// Heat in a plane: a block computes two steps of the same tile in shared memory, its border shrinking by one a step.
extern "C" __global__ void hotspot_tile(const float *power, const float *from, float *to, int width, int height, float cap, float rx, float ry, float rz) {
    const int tile = 16, steps = 2;
    __shared__ float t[tile][tile], p[tile][tile], next[tile][tile];
    int tx = threadIdx.x, ty = threadIdx.y, inner = tile - 2 * steps;
    int x = blockIdx.x * inner + tx - steps, y = blockIdx.y * inner + ty - steps;
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    if (inside) {
        t[ty][tx] = from[y * width + x];
        p[ty][tx] = power[y * width + x];
    }
    __syncthreads();
    int n = y > 0 ? ty - 1 : ty, s = y < height - 1 ? ty + 1 : ty, w = x > 0 ? tx - 1 : tx, e = x < width - 1 ? tx + 1 : tx;
    bool done = false;
    for (int k = 0; k < steps; k++) {
        done = false;
        if (tx > k && tx < tile - 1 - k && ty > k && ty < tile - 1 - k && inside) {
            done = true;
            float c = t[ty][tx];
            next[ty][tx] = c + cap * (p[ty][tx] + (t[s][tx] + t[n][tx] - 2.0f * c) * ry + (t[ty][e] + t[ty][w] - 2.0f * c) * rx + (80.0f - c) * rz);
        }
        __syncthreads();
        if (k == steps - 1) break;
        if (done) t[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (done) to[y * width + x] = next[ty][tx];
}
