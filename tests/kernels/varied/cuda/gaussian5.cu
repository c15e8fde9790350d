// A filter of five by five over bytes, from a tile in shared memory, clamped at the border.
extern "C" __global__ void gaussian5(const unsigned char *x, unsigned char *y, int width, int height, int pitch) {
    __shared__ unsigned char s[20][36];
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * 32, by = blockIdx.y * 16, sum = 0;
    for (int j = ty; j < 20; j += 16)
        for (int i = tx; i < 36; i += 32) s[j][i] = x[min(max(by + j - 2, 0), height - 1) * pitch + min(max(bx + i - 2, 0), width - 1)];
    __syncthreads();
    const int g[5] = {1, 4, 6, 4, 1};
#pragma unroll
    for (int j = 0; j < 5; j++)
#pragma unroll
        for (int i = 0; i < 5; i++) sum += g[i] * g[j] * s[ty + j][tx + i];
    if (bx + tx < width && by + ty < height) y[(by + ty) * pitch + bx + tx] = (sum + 128) >> 8;
}
