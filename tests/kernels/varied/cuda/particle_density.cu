// Density of particles by a kernel of finite range, neighbours from the 27 cells around (particles sorted by cell).
extern "C" __global__ void particle_density(const float4 *p, const int2 *cell, float *density, int nx, int ny, int nz, int n, float range, float h2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 me = p[i];
    int cx = me.x / range, cy = me.y / range, cz = me.z / range;
    float sum = 0;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, nz - 1); z++)
        for (int y = max(cy - 1, 0); y <= min(cy + 1, ny - 1); y++)
            for (int x = max(cx - 1, 0); x <= min(cx + 1, nx - 1); x++) {
                int2 span = cell[(z * ny + y) * nx + x];
                for (int j = span.x; j < span.y; j++) {
                    float4 o = p[j];
                    float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
                    float r2 = dx * dx + dy * dy + dz * dz;
                    if (r2 < h2) {
                        float t = h2 - r2;
                        sum += o.w * t * t * t;
                    }
                }
            }
    density[i] = sum;
}
