struct A { int k; __device__ virtual int f(int x) { return x + k; } __device__ virtual int g(int x) { return x - k; } };
struct B : A { __device__ int f(int x) override { return x * k; } };
struct C : B { int z; __device__ int g(int x) override { return x ^ z; } };
__device__ A *objs[3];
__global__ void make() { B *b = new B; b->k = 3; C *c = new C; c->k = 5; c->z = 9; A *a = new A; a->k = 2; objs[0] = a; objs[1] = b; objs[2] = c; }
__global__ void use(int *o) { int i = threadIdx.x; o[i] = objs[i % 3]->f(i) + 100 * objs[(i / 3) % 3]->g(i); }
typedef int (*fp)(int);
__device__ __noinline__ int p(int a) { return a * 3 + 1; }
__device__ __noinline__ int q(int a) { return a ^ 7; }
__device__ fp shared_pointer;
__device__ fp tab[2] = {p, q};
__global__ void set(int which) { shared_pointer = which ? p : q; }
__global__ void call(int *o) { o[threadIdx.x] = shared_pointer(threadIdx.x) * 1000 + tab[threadIdx.x & 1](5); }
__global__ void given(int *o, fp f) { o[threadIdx.x] = f(threadIdx.x); }
__global__ void take(fp *o) { *o = q; }
__global__ void swi(int *o, fp f) { int i = threadIdx.x; switch (o[i] & 7) { case 0: o[i] = f(3); break; case 1: o[i] = 10; break; case 2: o[i] += 20; break; case 3: o[i] *= 30; break; case 4: o[i] = 40; break; case 5: o[i] = f(i); break; default: o[i] = 1; } }
