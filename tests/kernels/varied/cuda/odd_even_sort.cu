// Sorts 128 numbers of a block in shared memory.
extern "C" __global__ void odd_even_sort(float *x) {
    __shared__ float s[128];
    int t = threadIdx.x;
    float *p = x + blockIdx.x * 128;
    s[t] = p[t];
    s[t + 64] = p[t + 64];
    __syncthreads();
    for (int round = 0; round < 128; round++) {
        int i = 2 * t + (round & 1);
        if (i + 1 < 128) {
            float a = s[i], b = s[i + 1];
            s[i] = fminf(a, b);
            s[i + 1] = fmaxf(a, b);
        }
        __syncthreads();
    }
    p[t] = s[t];
    p[t + 64] = s[t + 64];
}
