// Triangles of a graph with sorted neighbours: for each vertex those in which it has the lowest number.
extern "C" __global__ void triangles(const int *first, const int *to, int *count, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
    if (v >= n) return;
    for (int e = first[v]; e < first[v + 1]; e++) {
        int u = to[e];
        if (u <= v) continue;
        int i = first[v], j = first[u], ie = first[v + 1], je = first[u + 1];
        while (i < ie && j < je) {
            int a = to[i], b = to[j];
            if (a == b) s += a > u, i++, j++;
            else if (a < b) i++;
            else j++;
        }
    }
    count[v] = s;
}
