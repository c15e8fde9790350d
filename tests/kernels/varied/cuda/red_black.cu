// One half of a Gauss-Seidel step: the points of one colour.
extern "C" __global__ void red_black(float *u, const float *f, int w, int h, int colour, float omega) {
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + colour) & 1);
    if (x >= w - 1 || y >= h - 1) return;
    int at = y * w + x;
    float around = u[at - 1] + u[at + 1] + u[at - w] + u[at + w];
    u[at] += omega * (0.25f * (around - f[at]) - u[at]);
}
