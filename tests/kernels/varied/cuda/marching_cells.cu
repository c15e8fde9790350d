// Cells of a grid in which a value passes a level: the pattern of corners, the triangles of a table, and where the three edges are cut.
extern "C" __global__ void marching_cells(const float *f, const unsigned char *triangles, unsigned char *pattern, int *count, float4 *cut, int nx, int ny, int nz, float level) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= nx - 1) return;
    const float *p = f + (z * ny + y) * nx + x;
    float v[8];
    unsigned cell = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        v[k] = p[(k >> 2) * nx * ny + (k >> 1 & 1) * nx + (k & 1)];
        if (v[k] < level) cell |= 1 << k;
    }
    int at = (z * (ny - 1) + y) * (nx - 1) + x;
    pattern[at] = cell;
    int t = triangles[cell];
    if (t) atomicAdd(count, t);
    float4 c = make_float4(-1, -1, -1, t);
    if ((cell & 3) == 1 || (cell & 3) == 2) c.x = (level - v[0]) / (v[1] - v[0]);
    if ((cell & 5) == 1 || (cell & 5) == 4) c.y = (level - v[0]) / (v[2] - v[0]);
    if ((cell & 17) == 1 || (cell & 17) == 16) c.z = (level - v[0]) / (v[4] - v[0]);
    cut[at] = c;
}
