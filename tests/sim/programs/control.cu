// Control flow, calls, local memory, printf.  control.ptx is made from this with: nvcc -arch=sm_75 -ptx
#include <assert.h>
#include <stdio.h>

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursion(int *o) { o[threadIdx.x] = fib(threadIdx.x % 10); }

__device__ __noinline__ int f0(int a) { return a + 1; }
__device__ __noinline__ int f1(int a) { return a * 3; }
__device__ __noinline__ int f2(int a) { return a ^ 5; }
typedef int (*function)(int);
__device__ function table[3] = {f0, f1, f2};
extern "C" __global__ void pointers(int *o) { o[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x); }

extern "C" __global__ void switches(int *o, const int *a) {
  int t = threadIdx.x, r;
  switch (a[t]) {
    case 0: r = 5; break;
    case 1: r = t * t; break;
    case 2: r = t ^ 77; break;
    case 3: r = t / 7; break;
    case 4: r = t % 9 + 3; break;
    case 5: r = -t; break;
    case 6: r = t << 3; break;
    case 7: r = __popc(t); break;
    default: r = -1;
  }
  o[t] = r;
}

extern "C" __global__ void collatz(int *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = i + 1;
  int steps = 0;
  while (v != 1) {
    if (v & 1) v = 3 * v + 1;
    else v >>= 1;
    if (++steps > 200) break;
  }
  o[i] = steps;
}

extern "C" __global__ void locals(int *o, const int *a) {
  int b[16], t = threadIdx.x, s = 0;
  for (int i = 0; i < 16; i++) b[i] = 0;
  for (int i = 0; i < 16; i++) b[(a[i] + t) & 15] += i * t;
  for (int i = 0; i < 16; i++) s = s * 3 + b[(a[i] ^ t) & 15];
  o[t] = s;
}

__device__ __noinline__ void bump(int *p, int v) { *p += v; }
extern "C" __global__ void generic(int *o, int k) {
  __shared__ int s[64];
  int l[4], t = threadIdx.x;
  s[t] = t;
  l[t & 3] = t;
  __syncthreads();
  bump((t & 1) ? &s[t] : (t & 2) ? &l[t & 3] : &o[t], k);
  __syncthreads();
  o[64 + t] = s[t] + l[t & 3];
}

extern "C" __global__ void print(int n) {
  printf("%d %s %f %lld %c %p %5.2f|%-8d|%08x|%+d|%e%%\n", threadIdx.x, "text", 1.5 * threadIdx.x, 123456789012LL, 'c',
         (void *)16, 3.14159, n, n, n, 0.5);
}
extern "C" __global__ void asserts(int n) { assert(n == 3); }
extern "C" __global__ void heap(int *o) {
  int t = threadIdx.x, *p = (int *)malloc(16);
  p[0] = t;
  p[3] = t * 2;
  o[t] = p[0] + p[3];
  free(p);
}

__device__ int counter = 5;
__constant__ int weights[4] = {10, 20, 30, 40};
extern "C" __global__ void variables(int *o) {
  o[threadIdx.x] = weights[threadIdx.x & 3] + counter;
  __syncthreads();
  if (threadIdx.x == 0) counter += 1;
}
struct pair { short a; double b; };
extern "C" __global__ void structs(double *o, pair p, unsigned char c) { o[threadIdx.x] = p.a * p.b + c; }
