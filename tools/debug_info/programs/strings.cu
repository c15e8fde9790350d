#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__device__ unsigned hash(const char *s, int n) { unsigned h = 5381; for (int i = 0; i < n && s[i]; i++) h = (h << 5) + h + s[i]; return h; }
__device__ int number(const char *s) { int v = 0, sign = 1; if (*s == '-') { sign = -1; s++; } for (; *s >= '0' && *s <= '9'; s++) v = v * 10 + *s - '0'; return v * sign; }
__device__ int print(char *out, int v) { int n = 0; char b[12]; bool neg = v < 0; if (neg) v = -v; do b[n++] = '0' + v % 10; while (v /= 10); if (neg) b[n++] = '-'; for (int i = 0; i < n; i++) out[i] = b[n - 1 - i]; return n; }
__global__ void k_strings(const char *in, char *out, unsigned *h, int n)
{
    const char *mine = in + threadIdx.x * n;
    h[threadIdx.x] = hash(mine, n);
    int v = number(mine);
    int k = print(out + threadIdx.x * n, v * 3 - 7);
    if (k > 8) printf("%d: %s\n", k, mine);
}
__global__ void k_halves(const __half2 *a, const __nv_bfloat16 *b, __half2 *c, float *d, int n)
{
    int i = threadIdx.x;
    __half2 s = __float2half2_rn(0.f);
    for (int j = 0; j < n; j++) s = __hfma2(a[j], a[i], __hmax2(s, a[j]));
    c[i] = h2exp(s);
    d[i] = __bfloat162float(__hmul(b[i], b[i + 1])) + __half2float(__hadd(s.x, s.y));
    c[i + n] = __hneg2(s) ;
    d[i + n] = __half2float(__low2half(a[i])) * -(float)n;
}
