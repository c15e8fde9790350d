// Softmax of rows with the maximum and the sum found in one pass.
__device__ void join(float &m, float &s, float om, float os) {
    float nm = fmaxf(m, om);
    s = s * __expf(m - nm) + os * __expf(om - nm);
    m = nm;
}
extern "C" __global__ void online_softmax(const float *x, float *y, int n) {
    __shared__ float sm[32], ss[32];
    int t = threadIdx.x;
    const float *row = x + (long)blockIdx.x * n;
    float m = -INFINITY, s = 0;
    for (int i = t; i < n; i += blockDim.x) join(m, s, row[i], 1.f);
    for (int o = 16; o; o >>= 1) join(m, s, __shfl_xor_sync(~0u, m, o), __shfl_xor_sync(~0u, s, o));
    if ((t & 31) == 0) sm[t >> 5] = m, ss[t >> 5] = s;
    __syncthreads();
    m = sm[0], s = ss[0];
    for (int w = 1; w < (int)blockDim.x / 32; w++) join(m, s, sm[w], ss[w]);
    float scale = 1.f / s;
    for (int i = t; i < n; i += blockDim.x) y[(long)blockIdx.x * n + i] = __expf(row[i] - m) * scale;
}
