// The nearest point of a balanced tree of points in three dimensions, a thread a query, with a stack of nodes in local memory.
extern "C" __global__ void kd_nearest(const float4 *tree, int nodes, const float *queries, int n, int *nearest, float *distance) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    float q[3] = {queries[3 * t], queries[3 * t + 1], queries[3 * t + 2]};
    int stack[24], depth = 0, best = -1;
    float gap[24], least = 1e30f;
    stack[0] = 0;
    gap[0] = 0;
    depth = 1;
    while (depth) {
        depth--;
        int at = stack[depth];
        if (gap[depth] >= least) continue;
        while (at < nodes) {
            float4 p = tree[at];
            float dx = q[0] - p.x, dy = q[1] - p.y, dz = q[2] - p.z;
            float d = dx * dx + dy * dy + dz * dz;
            if (d < least) {
                least = d;
                best = at;
            }
            int axis = __float_as_int(p.w);
            float s = axis == 0 ? dx : axis == 1 ? dy : dz;
            int near = 2 * at + 1 + (s >= 0), far = 2 * at + 2 - (s >= 0);
            if (far < nodes && s * s < least) {
                stack[depth] = far;
                gap[depth] = s * s;
                depth++;
            }
            at = near;
        }
    }
    nearest[t] = best;
    distance[t] = sqrtf(least);
}
