// State h = exp(d A) h + d B x of a channel, 4 states, times C; a warp a channel, 32 steps at a time by a scan of (factor, addend).
extern "C" __global__ void selective_scan(const float *x, const float *delta, const float4 *b, const float4 *c, const float4 *a, float *y, int channels, int steps) {
    int lane = threadIdx.x % 32, channel = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    float4 rate = a[channel];
    float r[4] = {rate.x, rate.y, rate.z, rate.w}, h[4] = {0, 0, 0, 0};
    for (int first = 0; first < steps; first += 32) {
        int at = (first + lane) * channels + channel;
        float d = delta[at], u = x[at] * d;
        float4 bb = b[first + lane], cc = c[first + lane];
        float bs[4] = {bb.x, bb.y, bb.z, bb.w}, cs[4] = {cc.x, cc.y, cc.z, cc.w};
        float sum = 0;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float f = __expf(d * r[s]), g = u * bs[s];
#pragma unroll
            for (int k = 1; k < 32; k <<= 1) {
                float pf = __shfl_up_sync(~0u, f, k), pg = __shfl_up_sync(~0u, g, k);
                if (lane >= k) { g += f * pg; f *= pf; }
            }
            float value = g + f * h[s];
            sum += value * cs[s];
            h[s] = __shfl_sync(~0u, value, 31);
        }
        y[at] = sum;
    }
}
