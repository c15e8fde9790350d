// Features of points from hash tables of several resolutions, interpolated between eight corners.
extern "C" __global__ void hash_grid(const float *point, const float2 *table, float2 *out, int n, int levels, unsigned mask, float base, float growth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = point[3 * i], y = point[3 * i + 1], z = point[3 * i + 2], scale = base;
    for (int level = 0; level < levels; level++) {
        float px = x * scale, py = y * scale, pz = z * scale;
        float fx = floorf(px), fy = floorf(py), fz = floorf(pz);
        unsigned cx = fx, cy = fy, cz = fz;
        fx = px - fx; fy = py - fy; fz = pz - fz;
        float a = 0, b = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            unsigned h = (cx + (k & 1)) ^ (cy + (k >> 1 & 1)) * 2654435761u ^ (cz + (k >> 2)) * 805459861u;
            float w = (k & 1 ? fx : 1 - fx) * (k & 2 ? fy : 1 - fy) * (k & 4 ? fz : 1 - fz);
            float2 f = table[level * (mask + 1) + (h & mask)];
            a += w * f.x;
            b += w * f.y;
        }
        out[i * levels + level] = make_float2(a, b);
        scale *= growth;
    }
}
