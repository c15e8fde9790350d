// x to the power e by products in Montgomery's form, modulo an odd number of 32 bits.
__device__ unsigned reduced(unsigned long long t, unsigned n, unsigned inverse) {
    unsigned m = (unsigned)t * inverse;
    unsigned long long s = (unsigned long long)m * n;
    unsigned high = (unsigned)(t >> 32), other = (unsigned)(s >> 32);
    return high >= other ? high - other : high - other + n;
}
extern "C" __global__ void montgomery(const unsigned *x, unsigned *out, unsigned e, unsigned n, unsigned inverse, unsigned square) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned base = reduced((unsigned long long)x[t] * square, n, inverse), r = reduced(square, n, inverse);
    for (; e; e >>= 1) {
        if (e & 1) r = reduced((unsigned long long)r * base, n, inverse);
        base = reduced((unsigned long long)base * base, n, inverse);
    }
    out[t] = reduced(r, n, inverse);
}
