// The knapsack problem, a block a problem, a thread two capacities; which items the best choice has.
extern "C" __global__ void knapsack(const int *weights, const int *values, int items, int capacity, unsigned int *taken, int *best, unsigned int *choice) {
    extern __shared__ int row[];
    int b = blockIdx.x, t = threadIdx.x, width = blockDim.x * 2;
    const int *w = weights + b * items, *v = values + b * items;
    unsigned int *mine = taken + b * items * (width / 32);
    row[t] = row[t + blockDim.x] = 0;
    __syncthreads();
    for (int k = 0; k < items; k++) {
        int need = w[k], gain = v[k];
        int now[2];
        for (int j = 0; j < 2; j++) {
            int c = t + j * blockDim.x;
            int with = c >= need ? row[c - need] + gain : -1;
            bool take = with > row[c];
            now[j] = take ? with : row[c];
            unsigned int set = __ballot_sync(0xffffffffu, take);
            if ((t & 31) == 0) mine[k * (width / 32) + c / 32] = set;
        }
        __syncthreads();
        row[t] = now[0];
        row[t + blockDim.x] = now[1];
        __syncthreads();
    }
    if (t == 0) {
        int c = capacity;
        unsigned int set = 0;
        for (int k = items - 1; k >= 0; k--)
            if (mine[k * (width / 32) + c / 32] >> (c & 31) & 1) {
                set |= 1u << k;
                c -= w[k];
            }
        best[b] = row[capacity];
        choice[b] = set;
    }
}
