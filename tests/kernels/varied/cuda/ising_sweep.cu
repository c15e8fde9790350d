// Half a sweep of the Ising model on a torus: spins of one colour against eight thresholds, numbers by a hash of place and step.
__device__ unsigned number(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}
extern "C" __global__ void ising_sweep(signed char *own, const signed char *other, const unsigned *accept, int width, int height, int colour, unsigned step, int *total) {
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += gridDim.x * blockDim.x) {
        int y = i / width, x = i % width;
        int up = y == 0 ? height - 1 : y - 1, down = y == height - 1 ? 0 : y + 1;
        int side = (y + colour) & 1 ? (x == width - 1 ? 0 : x + 1) : (x == 0 ? width - 1 : x - 1);
        int around = other[up * width + x] + other[down * width + x] + other[y * width + x] + other[y * width + side];
        int s = own[i];
        if (number(i * 747796405u + step) < accept[(around + 4) / 2 + (s > 0 ? 5 : 0)]) s = -s;
        own[i] = s;
        sum += s * around;
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, sum);
}
