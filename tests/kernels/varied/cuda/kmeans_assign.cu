// The nearest of the centres, which are in shared memory.
extern "C" __global__ void kmeans_assign(const float *points, const float *centres, int *nearest, int n, int k, int d) {
    extern __shared__ float c[];
    for (int i = threadIdx.x; i < k * d; i += blockDim.x) c[i] = centres[i];
    __syncthreads();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    float least = INFINITY;
    int best = 0;
    for (int i = 0; i < k; i++) {
        float s = 0;
        for (int j = 0; j < d; j++) { float e = points[t * d + j] - c[i * d + j]; s += e * e; }
        if (s < least) { least = s; best = i; }
    }
    nearest[t] = best;
}
