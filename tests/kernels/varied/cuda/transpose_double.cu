// A transposed matrix of doubles through shared memory.
extern "C" __global__ void transpose_double(const double *a, double *b, int width, int height) {
    __shared__ double s[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) s[threadIdx.y][threadIdx.x] = a[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) b[y * height + x] = s[threadIdx.x][threadIdx.y];
}
