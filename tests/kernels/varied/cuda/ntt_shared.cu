// Number-theoretic transforms of 256 points modulo 998244353 in shared memory.
#define P 998244353u
__device__ unsigned mulmod(unsigned a, unsigned b) { return (unsigned long long)a * b % P; }
extern "C" __global__ void ntt_shared(unsigned *data, const unsigned *root) {
    __shared__ unsigned x[256];
    int t = threadIdx.x;
    unsigned *d = data + 256 * blockIdx.x;
    x[__brev(t) >> 24] = d[t];
    x[__brev(t + 128) >> 24] = d[t + 128];
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        int k = t & (half - 1), at = 2 * (t - k) + k;
        unsigned u = x[at], v = mulmod(x[at + half], root[half + k]);
        x[at] = u + v >= P ? u + v - P : u + v;
        x[at + half] = u >= v ? u - v : u + P - v;
        __syncthreads();
    }
    d[t] = x[t];
    d[t + 128] = x[t + 128];
}
