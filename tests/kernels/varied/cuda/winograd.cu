// Convolution with 3 x 3 weights by Winograd's F(2x2, 3x3); a thread makes 2 x 2 results of a channel.
extern "C" __global__ void winograd(const float *__restrict__ x, const float *__restrict__ u, float *__restrict__ y, int channels, int w, int h) {
    int tx = blockIdx.x * blockDim.x + threadIdx.x, ty = blockIdx.y, o = blockIdx.z;
    if (2 * tx >= w - 2) return;
    float m[4][4] = {};
    for (int c = 0; c < channels; c++) {
        const float *p = x + (c * h + 2 * ty) * w + 2 * tx, *g = u + (o * channels + c) * 16;
        float d[4][4], t[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) d[i][j] = p[i * w + j];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            t[0][j] = d[0][j] - d[2][j];
            t[1][j] = d[1][j] + d[2][j];
            t[2][j] = d[2][j] - d[1][j];
            t[3][j] = d[1][j] - d[3][j];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            m[i][0] += g[4 * i] * (t[i][0] - t[i][2]);
            m[i][1] += g[4 * i + 1] * (t[i][1] + t[i][2]);
            m[i][2] += g[4 * i + 2] * (t[i][2] - t[i][1]);
            m[i][3] += g[4 * i + 3] * (t[i][1] - t[i][3]);
        }
    }
    float *q = y + (o * (h - 2) + 2 * ty) * (w - 2) + 2 * tx;
    float s[2][4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        s[0][j] = m[0][j] + m[1][j] + m[2][j];
        s[1][j] = m[1][j] - m[2][j] - m[3][j];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        q[i * (w - 2)] = s[i][0] + s[i][1] + s[i][2];
        q[i * (w - 2) + 1] = s[i][1] - s[i][2] - s[i][3];
    }
}
