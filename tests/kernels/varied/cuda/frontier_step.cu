// One level of a breadth-first search: a thread a vertex of the frontier, new vertices go to a queue, collected by block first.
extern "C" __global__ void frontier_step(const int *offset, const int *target, const int *frontier, int size, int *distance, int level, int *queue, int *length) {
    __shared__ int found[256];
    __shared__ int count, base;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < size) {
        int v = frontier[k];
        for (int e = offset[v]; e < offset[v + 1]; e++) {
            int w = target[e];
            if (distance[w] < 0 && atomicCAS(&distance[w], -1, level) == -1) {
                int at = atomicAdd(&count, 1);
                if (at < 256) found[at] = w;
                else queue[atomicAdd(length, 1)] = w;
            }
        }
    }
    __syncthreads();
    int here = min(count, 256);
    if (threadIdx.x == 0) base = atomicAdd(length, here);
    __syncthreads();
    for (int i = threadIdx.x; i < here; i += blockDim.x) queue[base + i] = found[i];
}
