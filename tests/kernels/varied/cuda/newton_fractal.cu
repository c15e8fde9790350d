// Which root of z^3 = 1 Newton's method reaches from each point, and after how many steps.
extern "C" __global__ void newton_fractal(int *out, int w, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = (i % w - w / 2 + 0.5) * scale, y = (i / w - w / 2 + 0.25) * scale;
    int k = 0;
    for (; k < 30; k++) {
        double a = x * x - y * y, b = 2 * x * y, c = a * x - b * y - 1, d = a * y + b * x;
        if (c * c + d * d < 1e-6) break;
        double n = 3 * (a * a + b * b);
        x -= (c * a + d * b) / n;
        y -= (d * a - c * b) / n;
    }
    out[i] = k * 4 + (x > 0 ? 0 : y > 0 ? 1 : 2);
}
