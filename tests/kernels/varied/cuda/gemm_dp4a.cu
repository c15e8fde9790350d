// A product of bytes by tiles in shared memory, four bytes a step.
extern "C" __global__ void gemm_dp4a(const int *a, const int *b, int *c, int n, int k4) {
    __shared__ int as[16][17], bs[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx, s = 0;
    for (int k = 0; k < k4; k += 16) {
        as[ty][tx] = a[row * k4 + k + tx];
        bs[ty][tx] = b[(blockIdx.x * 16 + ty) * k4 + k + tx];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; j++) s = __dp4a(as[ty][j], bs[tx][j], s);
        __syncthreads();
    }
    c[row * n + column] = s;
}
