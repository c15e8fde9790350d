// Sorts each block of 128 keys by counting the smaller ones.
extern "C" __global__ void rank_sort(const int *keys, int *out) {
    __shared__ int k[128];
    int t = threadIdx.x, own = keys[blockIdx.x * 128 + t], rank = 0;
    k[t] = own;
    __syncthreads();
    for (int i = 0; i < 128; i++) rank += k[i] < own || (k[i] == own && i < t);
    out[blockIdx.x * 128 + rank] = own;
}
