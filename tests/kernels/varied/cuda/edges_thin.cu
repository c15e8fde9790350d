// Keeps what is largest along the direction of its gradient: the second step of Canny's edges, with two thresholds.
extern "C" __global__ void edges_thin(const short2 *grad, unsigned char *out, int w, int h, int low, int high) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    unsigned char e = 0;
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
        auto size = [&](int u, int v) { short2 g = grad[v * w + u]; return abs(g.x) + abs(g.y); };
        short2 g = grad[y * w + x];
        int m = abs(g.x) + abs(g.y);
        if (m > low) {
            int ax = abs(g.x), ay = abs(g.y) << 15, t = ax * 13573;
            int a, b;
            if (ay < t) { a = size(x - 1, y); b = size(x + 1, y); }
            else if (ay > t + (ax << 16)) { a = size(x, y - 1); b = size(x, y + 1); }
            else {
                int s = (g.x ^ g.y) < 0 ? -1 : 1;
                a = size(x - s, y - 1);
                b = size(x + s, y + 1);
            }
            if (m > a && m >= b) e = m > high ? 2 : 1;
        }
    }
    out[y * w + x] = e;
}
