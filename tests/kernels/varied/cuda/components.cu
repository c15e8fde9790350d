// Connected parts of a graph: labels fall to the smallest number of a part, by rounds of a block over all edges.
extern "C" __global__ void components(const int2 *edge, int *label, int edges, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) label[i] = i;
    __syncthreads();
    bool again = true;
    while (again) {
        again = false;
        for (int e = threadIdx.x; e < edges; e += blockDim.x) {
            int2 p = edge[e];
            int a = ((volatile int *)label)[p.x], b = ((volatile int *)label)[p.y];
            if (a != b) {
                int low = min(a, b), high = max(a, b);
                if (atomicMin(&label[high], low) > low) again = true;
                atomicMin(&label[p.x], low);
                atomicMin(&label[p.y], low);
                again = true;
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            int l = ((volatile int *)label)[i];
            while (((volatile int *)label)[l] != l) l = ((volatile int *)label)[l];
            label[i] = l;
        }
        again = __syncthreads_or(again);
    }
}
