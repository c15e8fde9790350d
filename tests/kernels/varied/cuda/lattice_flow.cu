// A step of the lattice Boltzmann method on a periodic D2Q9 lattice: streaming from the neighbours, then collision.
extern "C" __global__ void lattice_flow(const float *__restrict__ f, float *__restrict__ g, int w, int h, float omega) {
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float v[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        int xs = (x - cx[k] + w) % w, ys = (y - cy[k] + h) % h;
        v[k] = f[(k * h + ys) * w + xs];
        rho += v[k];
        ux += cx[k] * v[k];
        uy += cy[k] * v[k];
    }
    ux /= rho;
    uy /= rho;
    float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int k = 0; k < 9; k++) {
        float c = 3 * (cx[k] * ux + cy[k] * uy);
        g[(k * h + y) * w + x] = v[k] + omega * (weight[k] * rho * (1 + c + 0.5f * c * c - square) - v[k]);
    }
}
