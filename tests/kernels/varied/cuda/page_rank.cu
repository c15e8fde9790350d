// One step of the ranks of pages, over incoming links.
extern "C" __global__ void page_rank(const int *start, const int *from, const int *degree, const float *rank, float *next, int n, float damping) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    float s = 0;
    for (int k = start[v]; k < start[v + 1]; k++) { int u = from[k]; s += rank[u] / degree[u]; }
    next[v] = (1 - damping) / n + damping * s;
}
