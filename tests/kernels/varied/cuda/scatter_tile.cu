// One pass of a radix sort within tiles of 1,024 keys and values; the last tile is partial, and what it lacks is never defined.
extern "C" __global__ void scatter_tile(const unsigned *key_in, const float *value_in, unsigned *key_out, float *value_out, int n, int shift) {
    __shared__ unsigned short count[16 * 128];
    __shared__ unsigned total[128], exchange[1024];
    int t = threadIdx.x, tile = blockIdx.x * 1024, left = min(1024, n - tile), rank[8];
    unsigned key[8];
    float value[8];
#pragma unroll
    for (int d = 0; d < 16; d++) count[d * 128 + t] = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (t * 8 + k < left) key[k] = key_in[tile + t * 8 + k];
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (t * 8 + k < left) value[k] = value_in[tile + t * 8 + k];
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (t * 8 + k < left) rank[k] = count[(key[k] >> shift & 15) * 128 + t]++;
    __syncthreads();
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        unsigned c = count[t * 16 + j];
        count[t * 16 + j] = sum;
        sum += c;
    }
    total[t] = sum;
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        unsigned x = t >= step ? total[t - step] : 0;
        __syncthreads();
        total[t] += x;
        __syncthreads();
    }
    unsigned before = total[t] - sum;
#pragma unroll
    for (int j = 0; j < 16; j++) count[t * 16 + j] += before;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (t * 8 + k < left) exchange[rank[k] += count[(key[k] >> shift & 15) * 128 + t]] = key[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (k * 128 + t < left) key_out[tile + k * 128 + t] = exchange[k * 128 + t];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (t * 8 + k < left) exchange[rank[k]] = __float_as_uint(value[k]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (k * 128 + t < left) value_out[tile + k * 128 + t] = __uint_as_float(exchange[k * 128 + t]);
}
