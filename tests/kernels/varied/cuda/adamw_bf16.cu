// AdamW on weights of bfloat16 with moments in float: four a thread, rounded up or down by a number that a hash of the place gives.
__device__ unsigned draw(unsigned x, unsigned seed) {
    x = x * 0x9e3779b1u ^ seed;
    x ^= x >> 15;
    x *= 0xd168aaadu;
    x ^= x >> 15;
    x *= 0xaf723597u;
    return x ^ x >> 15;
}
extern "C" __global__ void adamw_bf16(uint2 *weights, const uint2 *grads, float4 *first, float4 *second, float rate, float b1, float b2, float c1, float c2, float eps, float decay, float scale, unsigned seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i >= n) return;
    uint2 wp = weights[i], gp = grads[i];
    float4 m4 = first[i], v4 = second[i];
    float w[4] = {__uint_as_float(wp.x << 16), __uint_as_float(wp.x & 0xffff0000), __uint_as_float(wp.y << 16), __uint_as_float(wp.y & 0xffff0000)};
    float g[4] = {__uint_as_float(gp.x << 16), __uint_as_float(gp.x & 0xffff0000), __uint_as_float(gp.y << 16), __uint_as_float(gp.y & 0xffff0000)};
    float m[4] = {m4.x, m4.y, m4.z, m4.w}, v[4] = {v4.x, v4.y, v4.z, v4.w};
    unsigned r[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float d = g[k] * scale;
        m[k] = b1 * m[k] + (1 - b1) * d;
        v[k] = b2 * v[k] + (1 - b2) * d * d;
        float next = w[k] - rate * (m[k] / c1 / (sqrtf(v[k] / c2) + eps) + decay * w[k]);
        r[k] = (__float_as_uint(next) + (draw(4 * i + k, seed) & 0xffff)) >> 16;
    }
    weights[i] = {r[0] | r[1] << 16, r[2] | r[3] << 16};
    first[i] = {m[0], m[1], m[2], m[3]};
    second[i] = {v[0], v[1], v[2], v[3]};
}
