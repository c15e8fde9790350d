// Depthwise convolution 3 x 3 in half precision, channels last, two channels a thread, with ReLU6.
#include <cuda_fp16.h>
extern "C" __global__ void depthwise_half(const __half2 *x, const __half2 *weight, const __half2 *bias, __half2 *y, int w, int h, int channels) {
    int c = threadIdx.x, ox = blockIdx.x, oy = blockIdx.y;
    __half2 s = bias[c];
#pragma unroll
    for (int j = -1; j <= 1; j++)
#pragma unroll
        for (int i = -1; i <= 1; i++) {
            int u = ox + i, v = oy + j;
            if (u >= 0 && u < w && v >= 0 && v < h) s = __hfma2(x[(v * w + u) * channels + c], weight[((j + 1) * 3 + i + 1) * channels + c], s);
        }
    y[(oy * w + ox) * channels + c] = __hmin2(__hmax2(s, __float2half2_rn(0)), __float2half2_rn(6));
}
