// Values between the points of a grid in three dimensions.
extern "C" __global__ void trilinear(const float *grid, const float *x, const float *y, const float *z, float *out, int n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float fx = x[i] * (size - 1), fy = y[i] * (size - 1), fz = z[i] * (size - 1);
    int ix = min((int)fx, size - 2), iy = min((int)fy, size - 2), iz = min((int)fz, size - 2);
    fx -= ix; fy -= iy; fz -= iz;
    const float *p = grid + (iz * size + iy) * size + ix;
    int r = size, s = size * size;
    float a = p[0] + fx * (p[1] - p[0]), b = p[r] + fx * (p[r + 1] - p[r]);
    float c = p[s] + fx * (p[s + 1] - p[s]), d = p[s + r] + fx * (p[s + r + 1] - p[s + r]);
    a += fy * (b - a);
    c += fy * (d - c);
    out[i] = a + fz * (c - a);
}
