// A picture of video to red, green and blue.
extern "C" __global__ void nv12_to_rgb(const unsigned char *y, const unsigned char *uv, uchar4 *out, int width, int pitch) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (x >= width) return;
    int l = y[row * pitch + x] - 16, u = uv[row / 2 * pitch + (x & ~1)] - 128, v = uv[row / 2 * pitch + (x | 1)] - 128;
    int r = (298 * l + 409 * v + 128) >> 8, g = (298 * l - 100 * u - 208 * v + 128) >> 8, b = (298 * l + 516 * u + 128) >> 8;
    out[row * width + x] = make_uchar4(min(max(r, 0), 255), min(max(g, 0), 255), min(max(b, 0), 255), 255);
}
