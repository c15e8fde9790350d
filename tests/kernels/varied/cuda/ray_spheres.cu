// The nearest sphere that a ray from the origin hits, and its distance.
extern "C" __global__ void ray_spheres(const float4 *spheres, const float *dir, float *distance, int *hit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = dir[3 * i], y = dir[3 * i + 1], z = dir[3 * i + 2];
    float norm = rsqrtf(x * x + y * y + z * z), best = 1e30f;
    x *= norm; y *= norm; z *= norm;
    int found = -1;
    for (int k = 0; k < n; k++) {
        float4 s = spheres[k];
        float b = x * s.x + y * s.y + z * s.z, c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w, d = b * b - c;
        if (d < 0) continue;
        float root = sqrtf(d), t = b - root;
        if (t < 0) t = b + root;
        if (t > 0 && t < best) { best = t; found = k; }
    }
    distance[i] = best;
    hit[i] = found;
}
