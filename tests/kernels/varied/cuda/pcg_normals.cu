// Normal numbers from PCG32 and Box-Muller; a thread makes `count` pairs.
__device__ unsigned next(unsigned long long &s) {
    unsigned long long old = s;
    s = old * 6364136223846793005ull + 1442695040888963407ull;
    unsigned x = (unsigned)(((old >> 18) ^ old) >> 27), r = (unsigned)(old >> 59);
    return x >> r | x << (-r & 31);
}
extern "C" __global__ void pcg_normals(float2 *out, unsigned *raw, unsigned long long seed, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    unsigned long long s = seed + i * 0x9e3779b97f4a7c15ull;
    unsigned sum = 0;
    for (int k = 0; k < count; k++) {
        unsigned a = next(s), b = next(s);
        sum ^= a + b;
        float u = (a + 1.0f) * 2.3283064e-10f, v = b * 2.3283064e-10f;
        float r = sqrtf(-2.0f * __logf(u)), x, y;
        __sincosf(6.2831853f * v, &x, &y);
        out[k * all + i] = make_float2(r * y, r * x);
    }
    raw[i] = sum;
}
