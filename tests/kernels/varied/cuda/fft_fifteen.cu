// Transforms of 225 points, a block a transform and a thread 15 points: radix 3 and 5 in registers, twice, with shared memory between.
#include <cuda_runtime.h>
__device__ float2 mul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ void three(float2 &a, float2 &b, float2 &c) {
    float2 s = add(b, c), d = sub(b, c);
    float2 m = make_float2(a.x - 0.5f * s.x, a.y - 0.5f * s.y);
    float2 r = make_float2(0.86602540f * d.y, -0.86602540f * d.x);
    a = add(a, s);
    b = add(m, r);
    c = sub(m, r);
}
__device__ void five(float2 &a, float2 &b, float2 &c, float2 &d, float2 &e) {
    float2 p = add(b, e), q = add(c, d), u = sub(b, e), v = sub(c, d);
    const float c1 = 0.30901699f, c2 = -0.80901699f, s1 = 0.95105652f, s2 = 0.58778525f;
    float2 x = make_float2(a.x + c1 * p.x + c2 * q.x, a.y + c1 * p.y + c2 * q.y);
    float2 y = make_float2(a.x + c2 * p.x + c1 * q.x, a.y + c2 * p.y + c1 * q.y);
    float2 m = make_float2(s1 * u.y + s2 * v.y, -s1 * u.x - s2 * v.x);
    float2 n = make_float2(s2 * u.y - s1 * v.y, -s2 * u.x + s1 * v.x);
    a = add(a, add(p, q));
    b = add(x, m);
    e = sub(x, m);
    c = add(y, n);
    d = sub(y, n);
}
__device__ void fifteen(float2 (&v)[15]) {
    // Input k = 5 i + 3 j, output k = 10 p + 6 q, all modulo 15: no factors between the two.
    float2 w[15];
#pragma unroll
    for (int j = 0; j < 5; j++) {
        float2 a = v[3 * j % 15], b = v[(5 + 3 * j) % 15], c = v[(10 + 3 * j) % 15];
        three(a, b, c);
        w[j] = a;
        w[5 + j] = b;
        w[10 + j] = c;
    }
#pragma unroll
    for (int p = 0; p < 3; p++) {
        five(w[5 * p], w[5 * p + 1], w[5 * p + 2], w[5 * p + 3], w[5 * p + 4]);
#pragma unroll
        for (int q = 0; q < 5; q++) v[(10 * p + 6 * q) % 15] = w[5 * p + q];
    }
}
extern "C" __global__ void fft_fifteen(const float2 *x, float2 *out) {
    __shared__ float2 tile[15][17];
    int t = threadIdx.x, base = blockIdx.x * 225;
    float2 v[15];
    if (t < 15) {
#pragma unroll
        for (int k = 0; k < 15; k++) v[k] = x[base + 15 * k + t];
        fifteen(v);
#pragma unroll
        for (int k = 0; k < 15; k++) {
            float s, c;
            __sincosf(-6.283185307f / 225 * (k * t), &s, &c);
            tile[k][t] = mul(v[k], make_float2(c, s));
        }
    }
    __syncthreads();
    if (t < 15) {
#pragma unroll
        for (int k = 0; k < 15; k++) v[k] = tile[t][k];
        fifteen(v);
#pragma unroll
        for (int k = 0; k < 15; k++) out[base + 15 * k + t] = v[k];
    }
}
