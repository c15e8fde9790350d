// Random walks in a plane by xoroshiro128+: steps along one of eight directions, and the farthest squared distance of each walk.
__device__ unsigned long long rotl(unsigned long long x, int k) { return x << k | x >> (64 - k); }
extern "C" __global__ void walks(unsigned long long *states, int2 *places, int *farthest, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long s0 = states[2 * i], s1 = states[2 * i + 1];
    int x = 0, y = 0, far = 0;
    for (int t = 0; t < steps; t++) {
        unsigned long long r = s0 + s1;
        s1 ^= s0;
        s0 = rotl(s0, 24) ^ s1 ^ s1 << 16;
        s1 = rotl(s1, 37);
        unsigned int d = r >> 61;
        int step = (r >> 59 & 3) + 1;
        x += d == 0 || d == 1 || d == 7 ? step : d == 3 || d == 4 || d == 5 ? -step : 0;
        y += d == 1 || d == 2 || d == 3 ? step : d >= 5 ? -step : 0;
        far = max(far, x * x + y * y);
    }
    states[2 * i] = s0;
    states[2 * i + 1] = s1;
    places[i] = make_int2(x, y);
    farthest[i] = far;
}
