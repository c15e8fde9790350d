// Four steps of a Jacobi iteration in a tile of 16x16 with fixed borders.
extern "C" __global__ void jacobi_shared(const float *in, float *out, int n) {
    __shared__ float s[2][18][18];
    int x = threadIdx.x + 1, y = threadIdx.y + 1, gx = blockIdx.x * 16 + threadIdx.x, gy = blockIdx.y * 16 + threadIdx.y;
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 18 * 18; k += 256) s[0][k / 18][k % 18] = s[1][k / 18][k % 18] = 0;
    __syncthreads();
    s[0][y][x] = in[gy * n + gx];
    __syncthreads();
    int from = 0;
    for (int step = 0; step < 4; step++) {
        s[1 - from][y][x] = 0.25f * (s[from][y - 1][x] + s[from][y + 1][x] + s[from][y][x - 1] + s[from][y][x + 1]);
        from = 1 - from;
        __syncthreads();
    }
    out[gy * n + gx] = s[from][y][x];
}
