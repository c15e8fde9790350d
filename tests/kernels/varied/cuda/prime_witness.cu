// The test of Miller and Rabin for numbers of 40 bits with twelve bases; products modulo the number by halves.
__device__ unsigned long long product(unsigned long long a, unsigned long long b, unsigned long long m) {
    return (((a * (b >> 20)) % m << 20) + a * (b & 0xfffff)) % m;
}
extern "C" __global__ void prime_witness(const unsigned long long *numbers, unsigned char *prime, int n) {
    const unsigned bases[5] = {2, 3, 5, 7, 11};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long m = numbers[i], d = m - 1;
    bool is = m > 2 && (m & 1);
    int s = __ffsll(d) - 1;
    d >>= s;
    for (int k = 0; k < 5 && is; k++) {
        unsigned long long x = 1, b = bases[k] % m;
        for (unsigned long long e = d; e; e >>= 1) {
            if (e & 1) x = product(x, b, m);
            b = product(b, b, m);
        }
        bool ok = x == 1 || x == m - 1 || b == 0;
        for (int r = 1; r < s && !ok; r++) {
            x = product(x, x, m);
            ok = x == m - 1;
        }
        is = ok;
    }
    prime[i] = is || m == 2;
}
