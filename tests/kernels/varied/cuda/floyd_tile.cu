// Shortest paths between 32 places, in shared memory; a thread has four columns.
extern "C" __global__ void floyd_tile(int *d) {
    __shared__ int s[32][33];
    int x = threadIdx.x, y = threadIdx.y;
    int *p = d + blockIdx.x * 1024;
    for (int k = 0; k < 4; k++) s[y][x + 8 * k] = p[y * 32 + x + 8 * k];
    __syncthreads();
    for (int m = 0; m < 32; m++) {
        int a = s[y][m];
        int v[4];
        for (int k = 0; k < 4; k++) v[k] = min(s[y][x + 8 * k], a + s[m][x + 8 * k]);
        __syncthreads();
        for (int k = 0; k < 4; k++) s[y][x + 8 * k] = v[k];
        __syncthreads();
    }
    for (int k = 0; k < 4; k++) p[y * 32 + x + 8 * k] = s[y][x + 8 * k];
}
