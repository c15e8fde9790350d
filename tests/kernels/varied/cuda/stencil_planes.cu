// Seven-point stencil, plane by plane: the plane in shared memory, the two beside it in registers.
extern "C" __global__ void stencil_planes(const float *in, float *out, int nx, int ny, int nz, float c0, float c1) {
    __shared__ float tile[10][34];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    int plane = nx * ny, at = y * nx + x;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        float above = in[at + 2 * plane];
        __syncthreads();
        tile[ty][tx] = here;
        if (tx == 1) tile[ty][0] = in[at + plane - 1];
        if (tx == 32) tile[ty][33] = in[at + plane + 1];
        if (ty == 1) tile[0][tx] = in[at + plane - nx];
        if (ty == 8) tile[9][tx] = in[at + plane + nx];
        __syncthreads();
        out[at + plane] = c0 * here + c1 * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] + below + above);
        below = here;
        here = above;
        at += plane;
    }
}
