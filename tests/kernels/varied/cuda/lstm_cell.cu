// One step of an LSTM layer, a warp a unit: four products of a row with the input and the state, then gates, cell and output.
extern "C" __global__ void lstm_cell(const float *wx, const float *wh, const float *bias, const float *x, const float *h, const float *c, float *newh, float *newc, int inputs, int units) {
    int unit = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31, batch = blockIdx.y;
    if (unit >= units) return;
    float g[4] = {0, 0, 0, 0};
    for (int k = lane; k < inputs; k += 32) {
        float v = x[batch * inputs + k];
#pragma unroll
        for (int j = 0; j < 4; j++) g[j] += wx[(j * units + unit) * inputs + k] * v;
    }
    for (int k = lane; k < units; k += 32) {
        float v = h[batch * units + k];
#pragma unroll
        for (int j = 0; j < 4; j++) g[j] += wh[(j * units + unit) * units + k] * v;
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        for (int d = 16; d; d >>= 1) g[j] += __shfl_xor_sync(~0u, g[j], d);
    if (lane) return;
#pragma unroll
    for (int j = 0; j < 4; j++) g[j] += bias[j * units + unit];
    float in = 1 / (1 + expf(-g[0])), forget = 1 / (1 + expf(-g[1])), next = tanhf(g[2]), gate = 1 / (1 + expf(-g[3]));
    float cell = forget * c[batch * units + unit] + in * next;
    newc[batch * units + unit] = cell;
    newh[batch * units + unit] = gate * tanhf(cell);
}
