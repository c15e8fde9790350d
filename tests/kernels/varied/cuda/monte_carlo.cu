// Points in a quarter of a circle, counted by warp and by block.
extern "C" __global__ void monte_carlo(unsigned *hits, int points, unsigned seed) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, s = (t + 1) * 2654435761u ^ seed;
    unsigned inside = 0;
    for (int k = 0; k < points; k++) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        unsigned x = s >> 16, y = s & 0xffff;
        inside += x * x + (unsigned long long)y * y < 0xffffffffull;
    }
    for (int k = 16; k; k >>= 1) inside += __shfl_xor_sync(~0u, inside, k);
    if ((threadIdx.x & 31) == 0) atomicAdd(hits, inside);
}
