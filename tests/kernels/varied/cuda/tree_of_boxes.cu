// The nearest box that a ray enters, by a walk through a tree of boxes with a stack.
struct Box { float low[3], high[3]; };
__device__ float enters(const Box &b, const float *o, const float *inv, float best) {
    float near = 0, far = best;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float s = (b.low[k] - o[k]) * inv[k], t = (b.high[k] - o[k]) * inv[k];
        near = fmaxf(near, fminf(s, t));
        far = fminf(far, fmaxf(s, t));
    }
    return near <= far ? near : 3e38f;
}
extern "C" __global__ void tree_of_boxes(const Box *tree, const float *origin, const float *way, float *out, int *which, int leaves, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float o[3], inv[3], best = 1e30f;
    for (int k = 0; k < 3; k++) { o[k] = origin[3 * i + k]; inv[k] = 1.0f / way[3 * i + k]; }
    int stack[16], top = 0, at = -1;
    stack[top++] = 1;
    while (top) {
        int node = stack[--top];
        float t = enters(tree[node], o, inv, best);
        if (t >= best) continue;
        if (node >= leaves) { best = t; at = node - leaves; }
        else { stack[top++] = 2 * node + 1; stack[top++] = 2 * node; }
    }
    out[i] = best;
    which[i] = at;
}
