// Rows to signed bytes with a scale each: the largest absolute value becomes 127.
extern "C" __global__ void quantise_rows(const float4 *__restrict__ x, char4 *__restrict__ q, float *__restrict__ scale, int n) {
    __shared__ float part[8];
    const float4 *row = x + blockIdx.x * n;
    float m = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 v = row[i];
        m = fmaxf(m, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    }
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
    __syncthreads();
    m = part[0];
    for (int k = 1; k < blockDim.x / 32; k++) m = fmaxf(m, part[k]);
    float s = m / 127.0f, r = m > 0 ? 127.0f / m : 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 v = row[i];
        q[blockIdx.x * n + i] = make_char4(__float2int_rn(v.x * r), __float2int_rn(v.y * r), __float2int_rn(v.z * r), __float2int_rn(v.w * r));
    }
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
}
