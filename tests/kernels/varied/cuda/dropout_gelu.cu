// Bias, GELU by tanh and dropout by Philox with ten rounds, four values a thread.
__device__ uint4 philox(uint4 c, uint2 k) {
    for (int i = 0; i < 10; i++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}
__device__ float gelu(float v) {
    float t = 0.7978845608f * (v + 0.044715f * v * v * v);
    float e = __expf(2 * t);
    return 0.5f * v * (1 + (e - 1) / (e + 1));
}
extern "C" __global__ void dropout_gelu(const float4 *x, const float4 *bias, float4 *y, unsigned *mask, int n, int width, unsigned keep, float scale, unsigned long long seed) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 r = philox(make_uint4(i, 0, 7, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
        float4 v = x[i], b = bias[i % width];
        bool k0 = r.x < keep, k1 = r.y < keep, k2 = r.z < keep, k3 = r.w < keep;
        v.x = k0 ? gelu(v.x + b.x) * scale : 0;
        v.y = k1 ? gelu(v.y + b.y) * scale : 0;
        v.z = k2 ? gelu(v.z + b.z) * scale : 0;
        v.w = k3 ? gelu(v.w + b.w) * scale : 0;
        y[i] = v;
        mask[i] = k0 | k1 << 1 | k2 << 2 | k3 << 3;
    }
}
