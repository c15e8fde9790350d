// Paths through all places of a graph of up to 10 places, counted by a search with a stack; a thread a graph.
extern "C" __global__ void round_trips(const unsigned short *edges, int *out, int places, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short open[12], edge[12];
    for (int k = 0; k < places; k++) edge[k] = edges[k * n + i];
    int depth = 0, paths = 0, at[12];
    unsigned seen = 1;
    at[0] = 0;
    open[0] = edge[0] & ~1;
    while (depth >= 0) {
        unsigned o = open[depth];
        if (!o) {
            seen &= ~(1u << at[depth]);
            depth--;
            continue;
        }
        int next = __ffs(o) - 1;
        open[depth] = o & (o - 1);
        if (depth + 2 == places) { paths++; continue; }
        seen |= 1u << next;
        depth++;
        at[depth] = next;
        open[depth] = edge[next] & ~seen;
    }
    out[i] = paths;
}
