#ifdef __CUDACC__
extern "C" __global__ void bfs(const int *start, const int *edge, int *dist, int n) {
    __shared__ int changed;
    int t = threadIdx.x, level = 0;
    do {
        __syncthreads();
        if (t == 0) changed = 0;
        __syncthreads();
        if (t < n && dist[t] == level)
            for (int k = start[t]; k < start[t + 1]; k++)
                if (atomicCAS(&dist[edge[k]], -1, level + 1) == -1) changed = 1;
        __syncthreads();
        level++;
    } while (changed);
}
#else
#include "case.h"
int main() {
    Lcg g(20); int n = 60; std::vector<int32_t> st(1), e, d(n, -1), w;
    for (int i = 0; i < n; i++) { int k = g.next() % 3; while (k--) e.push_back(g.next() % n); st.push_back(e.size()); }
    d[0] = 0; w = d;
    for (int l = 0, more = 1; more; l++) { more = 0; for (int i = 0; i < n; i++) if (w[i] == l) for (int k = st[i]; k < st[i + 1]; k++) if (w[e[k]] < 0) { w[e[k]] = l + 1; more = 1; } }
    Case c("bfs", 1, 64); c.input(st); c.input(e); c.output(d, w); c.scalar(n); c.done();
}
#endif
