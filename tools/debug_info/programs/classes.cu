struct Shape { float x, y; __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Box : Shape { __device__ float area() const override { return x * y; } };
struct Disc : Shape { __device__ float area() const override { return 3.14159f * x * x; } };
struct Tree { int value; Tree *left, *right; };
enum class Kind : unsigned char { box, disc };
union Word { float f; unsigned u; struct { unsigned short low, high; } parts; };
namespace outer { namespace inner { __constant__ float table[8]; __device__ int counter; } }
__device__ int depth(const Tree *t) { return t ? 1 + max(depth(t->left), depth(t->right)) : 0; }
template <class T, int N> struct Stack { T data[N]; int top = 0; __device__ void push(T v) { data[top++] = v; } __device__ T pop() { return data[--top]; } };
__global__ void k_classes(float *out, const Tree *t, Kind kind, int n)
{
    Box b; Disc d; b.x = d.x = n; b.y = 2;
    Shape *s = kind == Kind::box ? (Shape *)&b : &d;
    Stack<const Tree *, 16> stack;
    stack.push(t);
    float sum = 0;
    while (stack.top) { const Tree *x = stack.pop(); if (!x) continue; sum += x->value; stack.push(x->left); stack.push(x->right); }
    Word w; w.f = sum; w.parts.low ^= 1;
    out[threadIdx.x] = s->area() + depth(t) + w.f + outer::inner::table[n & 7] + atomicAdd(&outer::inner::counter, 1);
}
__global__ void k_dynamic(int *out, int n)
{
    extern __shared__ int dynamic[];
    __shared__ short fixed[24];
    __shared__ double wide;
    dynamic[threadIdx.x] = out[threadIdx.x];
    fixed[threadIdx.x % 24] = threadIdx.x;
    if (threadIdx.x == 3) wide = n / 3.0;
    __syncthreads();
    out[threadIdx.x] = dynamic[n - 1 - threadIdx.x] * fixed[n % 24] + (int)wide;
}
