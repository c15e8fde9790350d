// Best score of a local alignment (Smith and Waterman, linear gaps); a block a pair, anti-diagonals of 64 by 64 characters.
extern "C" __global__ void local_alignment(const char *a, const char *b, int *score) {
    __shared__ int h[3][65];
    __shared__ int best;
    const char *p = a + blockIdx.x * 64, *q = b + blockIdx.x * 64;
    int i = threadIdx.x + 1, most = 0;
    for (int k = threadIdx.x; k < 3 * 65; k += 64) h[k / 65][k % 65] = 0;
    if (threadIdx.x == 0) best = 0;
    char c = p[i - 1];
    __syncthreads();
    for (int d = 2; d <= 128; d++) {
        int j = d - i, v = 0;
        if (j >= 1 && j <= 64) {
            int match = h[(d - 2) % 3][i - 1] + (c == q[j - 1] ? 2 : -1);
            int gap = max(h[(d - 1) % 3][i - 1], h[(d - 1) % 3][i]) - 1;
            v = max(0, max(match, gap));
            most = max(most, v);
        }
        h[d % 3][i] = v;
        __syncthreads();
    }
    atomicMax(&best, most);
    __syncthreads();
    if (threadIdx.x == 0) score[blockIdx.x] = best;
}
