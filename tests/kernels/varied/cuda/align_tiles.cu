// Global alignment of two texts: a block of 16 threads computes a tile of scores by its diagonals.
extern "C" __global__ void align_tiles(const int *match, int *score, int columns, int penalty, int diagonal, int first) {
    const int size = 16;
    __shared__ int t[size + 1][size + 1], m[size][size];
    int tx = threadIdx.x, bx = first + blockIdx.x, by = diagonal - bx;
    int base = columns * size * by + size * bx + columns + 1;
    if (tx == 0) t[0][0] = score[base - columns - 1];
#pragma unroll
    for (int y = 0; y < size; y++) m[y][tx] = match[base + columns * y + tx];
    t[tx + 1][0] = score[base + columns * tx - 1];
    t[0][tx + 1] = score[base - columns + tx];
    __syncwarp(0xffff);
    for (int d = 0; d < size; d++) {
        if (tx <= d) {
            int x = tx + 1, y = d - tx + 1;
            t[y][x] = max(t[y - 1][x - 1] + m[y - 1][x - 1], max(t[y][x - 1], t[y - 1][x]) - penalty);
        }
        __syncwarp(0xffff);
    }
    for (int d = size - 2; d >= 0; d--) {
        if (tx <= d) {
            int x = tx + size - d, y = size - tx;
            t[y][x] = max(t[y - 1][x - 1] + m[y - 1][x - 1], max(t[y][x - 1], t[y - 1][x]) - penalty);
        }
        __syncwarp(0xffff);
    }
#pragma unroll
    for (int y = 0; y < size; y++) score[base + columns * y + tx] = t[y + 1][tx + 1];
}
