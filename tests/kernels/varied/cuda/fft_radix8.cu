// Fourier transforms of 64 points: two steps of radix 8, with an exchange in shared memory.
__device__ float2 mul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ void fft4(float2 &a, float2 &b, float2 &c, float2 &d) {
    float2 p = add(a, c), q = sub(a, c), r = add(b, d), s = sub(b, d);
    s = make_float2(s.y, -s.x);
    a = add(p, r); b = add(q, s); c = sub(p, r); d = sub(q, s);
}
__device__ void fft8(float2 *v) {
    fft4(v[0], v[2], v[4], v[6]);
    fft4(v[1], v[3], v[5], v[7]);
    const float h = 0.70710678f;
    float2 b = mul(v[3], make_float2(h, -h)), c = make_float2(v[5].y, -v[5].x), d = mul(v[7], make_float2(-h, -h));
    float2 e[4] = {v[0], v[2], v[4], v[6]};
    float2 o[4] = {v[1], b, c, d};
    for (int k = 0; k < 4; k++) { v[k] = add(e[k], o[k]); v[k + 4] = sub(e[k], o[k]); }
}
extern "C" __global__ void fft_radix8(float2 *data) {
    __shared__ float2 t[8][65];
    int k = threadIdx.x, which = threadIdx.y;
    float2 *x = data + 64 * (blockIdx.x * 8 + which), v[8];
    for (int j = 0; j < 8; j++) v[j] = x[k + 8 * j];
    fft8(v);
    for (int j = 0; j < 8; j++) {
        float s, c;
        sincospif(-j * k / 32.0f, &s, &c);
        t[which][8 * k + j] = mul(v[j], make_float2(c, s));
    }
    __syncthreads();
    for (int j = 0; j < 8; j++) v[j] = t[which][8 * j + k];
    fft8(v);
    for (int j = 0; j < 8; j++) x[k + 8 * j] = v[j];
}
