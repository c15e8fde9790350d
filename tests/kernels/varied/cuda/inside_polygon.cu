// Whether points lie in a polygon (crossings of a ray), and the squared distance to its nearest edge.
extern "C" __global__ void inside_polygon(const float2 *points, int n, const float2 *corners, int m, unsigned char *inside, float *distance) {
    extern __shared__ float2 c[];
    for (int k = threadIdx.x; k < m; k += blockDim.x) c[k] = corners[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = points[i];
    bool in = false;
    float best = 1e30f;
    float2 a = c[m - 1];
    for (int k = 0; k < m; k++) {
        float2 b = c[k];
        float ex = b.x - a.x, ey = b.y - a.y, px = p.x - a.x, py = p.y - a.y;
        if ((a.y > p.y) != (b.y > p.y) && px < ex * py / ey) in = !in;
        float t = fminf(fmaxf((px * ex + py * ey) / (ex * ex + ey * ey), 0.0f), 1.0f);
        float dx = px - t * ex, dy = py - t * ey;
        best = fminf(best, dx * dx + dy * dy);
        a = b;
    }
    inside[i] = in;
    distance[i] = best;
}
