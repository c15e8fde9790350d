// Rotary position embedding of halves of a head, in half precision, from tables of cosine and sine.
#include <cuda_fp16.h>
extern "C" __global__ void rotary_pairs(__half *q, const float *cosine, const float *sine, int heads, int size) {
    int position = blockIdx.x, half = size / 2;
    for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
        int h = i / half, d = i % half;
        __half *p = q + (position * heads + h) * size + d;
        float a = __half2float(p[0]), b = __half2float(p[half]), c = cosine[position * half + d], s = sine[position * half + d];
        p[0] = __float2half(a * c - b * s);
        p[half] = __float2half(b * c + a * s);
    }
}
