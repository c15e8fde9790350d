// How often each thread's keys occur: an open hash table in global memory, filled by compare-and-swap, then asked.
struct Slot { unsigned key, count; };
__device__ unsigned mix(unsigned k) {
    k ^= k >> 16; k *= 0x85ebca6b; k ^= k >> 13; k *= 0xc2b2ae35;
    return k ^ k >> 16;
}
extern "C" __global__ void hash_counts(const unsigned *key, Slot *table, unsigned *out, int n, unsigned mask) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned k = key[i], at = mix(k) & mask;
        while (true) {
            unsigned old = atomicCAS(&table[at].key, 0xffffffffu, k);
            if (old == 0xffffffffu || old == k) {
                atomicAdd(&table[at].count, 1);
                break;
            }
            at = (at + 1) & mask;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned k = key[i], at = mix(k) & mask;
        while (((volatile Slot *)table)[at].key != k) at = (at + 1) & mask;
        out[i] = ((volatile Slot *)table)[at].count;
    }
}
