// Insertion of pairs into a table with two places a key: an exchange of 64 bits drives the old pair out to its other place.
__device__ unsigned place(unsigned key, int which, unsigned mask) {
    unsigned h = key * (which ? 0x85ebca6bu : 0x9e3779b1u);
    h ^= h >> 15;
    h *= which ? 0xc2b2ae35u : 0x2c1b3c6du;
    h ^= h >> 13;
    return (h & mask) * 2 + which;
}
extern "C" __global__ void cuckoo_insert(const unsigned *keys, const unsigned *values, int n, unsigned long long *table, unsigned mask, int tries, int *failed, int *moves) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long pair = (unsigned long long)keys[i] << 32 | values[i];
    int which = 0, k = 0;
    for (; k < tries; k++) {
        pair = atomicExch(table + place(pair >> 32, which, mask), pair);
        if (pair == ~0ull) break;
        // The pair that was there goes to its other place.
        which ^= 1;
    }
    if (k == tries) atomicAdd(failed, 1);
    if (k) atomicAdd(moves, k);
}
