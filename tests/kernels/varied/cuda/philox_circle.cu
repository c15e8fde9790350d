// Points inside a quarter of a circle, of random numbers by Philox 4x32-10.
__device__ uint4 philox(uint4 c, uint2 k) {
#pragma unroll
    for (int i = 0; i < 10; i++) {
        unsigned lo0 = 0xD2511F53u * c.x, hi0 = __umulhi(0xD2511F53u, c.x), lo1 = 0xCD9E8D57u * c.z, hi1 = __umulhi(0xCD9E8D57u, c.z);
        c = make_uint4(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}
extern "C" __global__ void philox_circle(unsigned *hits, unsigned long long seed, int rounds) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    for (int i = 0; i < rounds; i++) {
        uint4 v = philox(make_uint4(i, 0, t, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
        float x = (v.x >> 8) * 0x1p-24f, y = (v.y >> 8) * 0x1p-24f, z = (v.z >> 8) * 0x1p-24f, w = (v.w >> 8) * 0x1p-24f;
        inside += (x * x + y * y < 1) + (z * z + w * w < 1);
    }
    hits[t] = inside;
}
