// Jacobi symbols (a / n) and greatest common divisors of 32-bit numbers, n odd.
extern "C" __global__ void residue_symbols(const unsigned int *a, const unsigned int *n, signed char *symbol, unsigned int *common, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned int m = n[i], x = a[i] % m;
    int sign = 1;
    while (x) {
        int twos = __ffs(x) - 1;
        x >>= twos;
        unsigned int r = m & 7;
        if ((twos & 1) && (r == 3 || r == 5)) sign = -sign;
        if ((x & 3) == 3 && (m & 3) == 3) sign = -sign;
        unsigned int rest = m % x;
        m = x;
        x = rest;
    }
    common[i] = m;
    symbol[i] = m == 1 ? sign : 0;
}
