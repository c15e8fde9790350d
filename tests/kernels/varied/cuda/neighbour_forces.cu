// Forces of a pair potential from lists of neighbours, in a periodic box, up to a cutoff.
extern "C" __global__ void neighbour_forces(const float4 *at, const int *count, const int *list, float4 *force, int n, int stride, float box, float cut2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 p = at[i], f = make_float4(0, 0, 0, 0);
    for (int k = 0; k < count[i]; k++) {
        float4 q = at[list[k * stride + i]];
        float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
        dx -= box * rintf(dx / box);
        dy -= box * rintf(dy / box);
        dz -= box * rintf(dz / box);
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cut2) {
            float inv2 = 1 / r2, inv6 = inv2 * inv2 * inv2, s = inv6 * (48 * inv6 - 24) * inv2;
            f.x += dx * s;
            f.y += dy * s;
            f.z += dz * s;
            f.w += 4 * inv6 * (inv6 - 1);
        }
    }
    force[i] = f;
}
