// The eight largest of 256 values and their places, by eight rounds in which the lanes of a warp agree on the largest one.
extern "C" __global__ void topk_warp(const float *x, float *best, int *place) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v[8];
    for (int k = 0; k < 8; k++) v[k] = x[row * 256 + 32 * k + lane];
    for (int round = 0; round < 8; round++) {
        float m = v[0];
        int at = 0;
#pragma unroll
        for (int k = 1; k < 8; k++)
            if (v[k] > m) { m = v[k]; at = k; }
        int index = 32 * at + lane;
        for (int d = 16; d; d >>= 1) {
            float other = __shfl_xor_sync(~0u, m, d);
            int o = __shfl_xor_sync(~0u, index, d);
            if (other > m || (other == m && o < index)) { m = other; index = o; }
        }
        if (lane == 0) { best[row * 8 + round] = m; place[row * 8 + round] = index; }
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (index == 32 * k + lane) v[k] = -1e30f;
    }
}
