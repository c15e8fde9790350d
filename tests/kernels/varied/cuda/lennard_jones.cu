// Forces between atoms with a cut-off (Lennard-Jones), all pairs.
extern "C" __global__ void lennard_jones(const float4 *p, float *force, int n, float cut) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = p[i];
    float fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < n; k++) {
        float4 o = p[k];
        float x = own.x - o.x, y = own.y - o.y, z = own.z - o.z, r = x * x + y * y + z * z;
        if (r < cut && k != i) {
            float inverse = 1.0f / r, six = inverse * inverse * inverse;
            float f = inverse * six * (48.0f * six - 24.0f) * own.w * o.w;
            fx += f * x; fy += f * y; fz += f * z;
        }
    }
    force[3 * i] = fx; force[3 * i + 1] = fy; force[3 * i + 2] = fz;
}
