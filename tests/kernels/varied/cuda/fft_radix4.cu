// One pass of a Fourier transform with radix 4 (Stockham): n/4 threads, sub-transforms of length `done` are finished.
extern "C" __global__ void fft_radix4(const float2 *x, float2 *y, int n, int done) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, q = n / 4;
    int k = t & (done - 1);
    float angle = -1.5707963267948966f * k / done;
    float2 v[4];
    for (int r = 0; r < 4; r++) {
        float2 a = x[t + r * q];
        float s = sinf(angle * r), c = cosf(angle * r);
        v[r] = make_float2(a.x * c - a.y * s, a.x * s + a.y * c);
    }
    float2 e = {v[0].x + v[2].x, v[0].y + v[2].y}, f = {v[0].x - v[2].x, v[0].y - v[2].y};
    float2 g = {v[1].x + v[3].x, v[1].y + v[3].y}, h = {v[1].y - v[3].y, v[3].x - v[1].x};
    float2 *o = y + (t - k) * 4 + k;
    o[0] = make_float2(e.x + g.x, e.y + g.y);
    o[done] = make_float2(f.x + h.x, f.y + h.y);
    o[2 * done] = make_float2(e.x - g.x, e.y - g.y);
    o[3 * done] = make_float2(f.x - h.x, f.y - h.y);
}
