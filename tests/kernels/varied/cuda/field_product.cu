// Products modulo 2^255 - 19, numbers in ten limbs of 26 and 25 bits by turns; a thread multiplies and squares a few times.
typedef long long i64;
__device__ void carry(i64 (&h)[10], int (&r)[10]) {
#pragma unroll
    for (int round = 0; round < 2; round++) {
#pragma unroll
        for (int k = 0; k < 10; k++) {
            int bits = k & 1 ? 25 : 26;
            i64 c = h[k] >> bits;
            h[k] -= c << bits;
            if (k == 9) h[0] += c * 19;
            else h[k + 1] += c;
        }
    }
#pragma unroll
    for (int k = 0; k < 10; k++) r[k] = (int)h[k];
}
__device__ void times(const int (&a)[10], const int (&b)[10], int (&r)[10]) {
    i64 h[10];
#pragma unroll
    for (int k = 0; k < 10; k++) h[k] = 0;
#pragma unroll
    for (int i = 0; i < 10; i++)
#pragma unroll
        for (int j = 0; j < 10; j++) h[(i + j) % 10] += (i64)(a[i] * ((i & j & 1) ? 2 : 1)) * (i64)(b[j] * (i + j >= 10 ? 19 : 1));
    carry(h, r);
}
extern "C" __global__ void field_product(const int *a, const int *b, int *out, int squares, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int x[10], y[10], z[10];
#pragma unroll
    for (int k = 0; k < 10; k++) {
        x[k] = a[k * n + t];
        y[k] = b[k * n + t];
    }
    times(x, y, z);
    for (int s = 0; s < squares; s++) times(z, z, z);
#pragma unroll
    for (int k = 0; k < 10; k++) out[k * n + t] = z[k];
}
