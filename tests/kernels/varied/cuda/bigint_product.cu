// The product of two numbers of 256 bits, in words of 64 bits.
extern "C" __global__ void bigint_product(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long x[4], y[4], r[8] = {};
    for (int k = 0; k < 4; k++) { x[k] = a[t * 4 + k]; y[k] = b[t * 4 + k]; }
    for (int i = 0; i < 4; i++) {
        unsigned long long carry = 0;
        for (int j = 0; j < 4; j++) {
            unsigned long long low = x[i] * y[j], high = __umul64hi(x[i], y[j]);
            low += carry;
            high += low < carry;
            r[i + j] += low;
            carry = high + (r[i + j] < low);
        }
        r[i + 4] = carry;
    }
    for (int k = 0; k < 8; k++) out[t * 8 + k] = r[k];
}
