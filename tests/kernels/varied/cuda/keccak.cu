// The permutation Keccak-f[1600] of states that are stored lane by lane.
typedef unsigned long long L;
__device__ L left(L x, int n) { return n ? x << n | x >> (64 - n) : x; }
extern "C" __global__ void keccak(L *state, const L *constant, int n) {
    const int turn[25] = {0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    L a[25], b[25], c[5];
#pragma unroll
    for (int k = 0; k < 25; k++) a[k] = state[k * n + i];
    for (int round = 0; round < 24; round++) {
#pragma unroll
        for (int x = 0; x < 5; x++) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
#pragma unroll
        for (int k = 0; k < 25; k++) {
            int x = k % 5, y = k / 5;
            b[y + 5 * ((2 * x + 3 * y) % 5)] = left(a[k] ^ c[(x + 4) % 5] ^ left(c[(x + 1) % 5], 1), turn[k]);
        }
#pragma unroll
        for (int k = 0; k < 25; k++) a[k] = b[k] ^ ~b[k / 5 * 5 + (k + 1) % 5] & b[k / 5 * 5 + (k + 2) % 5];
        a[0] ^= constant[round];
    }
#pragma unroll
    for (int k = 0; k < 25; k++) state[k * n + i] = a[k];
}
