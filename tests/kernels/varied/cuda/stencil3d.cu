// Seven points in three dimensions; each thread walks along z with the planes in registers.
extern "C" __global__ void stencil3d(const float *in, float *out, int nx, int ny, int nz, float a, float b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    int plane = nx * ny, i = y * nx + x;
    float under = in[i], here = in[i + plane];
    for (int z = 1; z < nz - 1; z++) {
        float above = in[i + (z + 1) * plane];
        int j = i + z * plane;
        out[j] = a * here + b * (under + above + in[j - 1] + in[j + 1] + in[j - nx] + in[j + nx]);
        under = here;
        here = above;
    }
}
