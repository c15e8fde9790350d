// Threads that work together.  cooperation.ptx is made from this with: nvcc -arch=sm_75 -ptx
#include <cuda_fp16.h>

extern "C" __global__ void reduce(float *o, const float *a, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  float v = 0;
  for (int i = t; i < n; i += blockDim.x) v += a[i];
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if ((t & 31) == 0) s[t >> 5] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? s[t] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    if (t == 0) *o = v;
  }
}

extern "C" __global__ void scan(int *o, const int *a) {
  __shared__ int sums[32];
  int t = threadIdx.x + blockIdx.x * blockDim.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, v = a[t];
  for (int d = 1; d < 32; d <<= 1) {
    int u = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += u;
  }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int w = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int d = 1; d < 32; d <<= 1) {
      int u = __shfl_up_sync(~0u, w, d);
      if (lane >= d) w += u;
    }
    sums[lane] = w;
  }
  __syncthreads();
  o[t] = v + (warp ? sums[warp - 1] : 0);
}

extern "C" __global__ void votes(unsigned *o, const int *a) {
  int t = threadIdx.x;
  unsigned b = __ballot_sync(~0u, a[t] > 3);
  if (a[t] & 1) {
    unsigned m = __activemask();
    b += __popc(m) + __any_sync(m, a[t] == 7) * 100 + __all_sync(m, a[t] < 100) * 1000 + __match_any_sync(m, a[t]);
  }
  o[t] = b;
}

// the two parts of each warp use masks of their own
extern "C" __global__ void parts(unsigned *o, const int *a) {
  int t = threadIdx.x;
  unsigned mask = (t & 31) < 12 ? 0xfffu : 0xfffff000u;
  unsigned b = __ballot_sync(mask, a[t] > 3);
  int v = __shfl_sync(mask, a[t], (t & 31) < 12 ? 3 : 20);
  if ((t & 31) < 12) v += __shfl_xor_sync(mask, v, 1);
  __syncwarp(mask);
  o[t] = b + v;
}

extern "C" __global__ void barriers(int *o, const int *a) {
  int t = threadIdx.x;
  int c = __syncthreads_count(a[t] > 3);
  int d = __syncthreads_and(a[t] >= 0) * 2 + __syncthreads_or(a[t] > 1000);
  __shared__ int box[64];
  // producers and consumers on two named barriers
  if (t < 32) {
    for (int i = 0; i < 3; i++) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      box[t] = t * 10 + i;
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
    o[t] = c * 100 + d;
  } else if (t < 64) {
    int s = 0;
    for (int i = 0; i < 3; i++) {
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
      s += box[t - 32];
    }
    o[t] = s;
  } else {
    o[t] = c * 100 + d;
  }
}

__device__ int lock;
extern "C" __global__ void spin(int *o) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      int v = *(volatile int *)o;
      *(volatile int *)o = v + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

// every thread waits for the one before it: lanes of one warp depend on each other
extern "C" __global__ void chain(volatile int *turn, int *o) {
  int t = threadIdx.x;
  while (*turn != t) {
  }
  o[t] = t * t;
  __threadfence();
  *turn = t + 1;
}

extern "C" __global__ void atomics(unsigned *u, int *i, float *f, double *d, unsigned long long *l, __half2 *h) {
  __shared__ unsigned s[8];
  __shared__ float sf;
  int t = threadIdx.x;
  if (t < 8) s[t] = 0;
  if (t == 8) sf = 0;
  __syncthreads();
  atomicAdd(&u[t % 3], t);
  u[16 + t] = atomicAdd(&u[3], 1);
  atomicInc(&u[4], 9);
  atomicDec(&u[5], 6);
  atomicAnd(&u[6], ~(1u << (t & 31)));
  atomicOr(&u[7], 1u << (t & 31));
  atomicXor(&u[8], t);
  atomicMin(&i[0], 100 - t);
  atomicMax(&i[1], t * 3 - 50);
  atomicAdd(&f[0], 0.5f);
  atomicAdd(&d[0], 0.25);
  atomicAdd(&l[0], 0x100000001ull * t);
  atomicMax(&l[1], (unsigned long long)t << 33);
  l[2 + t] = atomicExch(&l[2 + t], 7ull);
  atomicCAS(&u[9], 0u, (unsigned)t + 1);
  atomicAdd(&h[0], __half2(1.0f, 0.5f));
  atomicAdd(&s[t & 3], 1u);
  atomicMax(&s[4], (unsigned)t);
  atomicAdd(&sf, 2.0f);
  __syncthreads();
  if (t < 8) i[2 + t] = s[t];
  if (t == 0) f[1] = sf;
}

extern "C" __global__ void transpose(float *o, const float *a, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) o[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void dynamic(int *o) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  s[t] = t * 7;
  __syncthreads();
  o[t] = s[blockDim.x - 1 - t];
}

extern "C" __global__ void outside(int *o, int n) { o[n + threadIdx.x] = 1; }
extern "C" __global__ void never() {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
}
extern "C" __global__ void forever(volatile int *p) {
  while (*p == 0) {
  }
}
extern "C" __global__ void traps(int n) {
  if (threadIdx.x == n) __trap();
}
