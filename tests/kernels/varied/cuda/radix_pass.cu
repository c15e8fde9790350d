// Sorts the 64 keys of a block by one digit of four bits, keeping the order of equal ones.
extern "C" __global__ void radix_pass(const unsigned *keys, unsigned *out, int shift) {
    __shared__ int count[16];
    __shared__ int start[16];
    int t = threadIdx.x, base = blockIdx.x * 64;
    if (t < 16) count[t] = 0;
    __syncthreads();
    unsigned key = keys[base + t];
    int digit = key >> shift & 15;
    atomicAdd(&count[digit], 1);
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int d = 0; d < 16; d++) { start[d] = sum; sum += count[d]; }
    }
    __syncthreads();
    int before = 0;
    for (int k = 0; k < t; k++) before += (keys[base + k] >> shift & 15) == digit;
    out[base + start[digit] + before] = key;
}
