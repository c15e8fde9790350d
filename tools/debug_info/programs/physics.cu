struct Vec { double x, y, z; };
__host__ __device__ inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec operator*(Vec a, double s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
template <class F> __device__ Vec rk4(Vec p, double h, F f)
{
    Vec a = f(p), b = f(p + a * (h / 2)), c = f(p + b * (h / 2)), d = f(p + c * h);
    return p + (a + b * 2 + c * 2 + d) * (h / 6);
}
__global__ void k_lorenz(Vec *p, int steps, double s, double r)
{
    Vec v = p[threadIdx.x];
    for (int i = 0; i < steps; i++)
        v = rk4(v, 0.01, [=](Vec q) { return Vec{s * (q.y - q.x), q.x * (r - q.z) - q.y, q.x * q.y - 8.0 / 3 * q.z}; });
    p[threadIdx.x] = v;
}
__global__ void k_field(const Vec *at, Vec *out, int n)
{
    Vec f = {0, 0, 0}, me = at[threadIdx.x];
    for (int i = 0; i < n; i++) {
        Vec d = at[i] - me;
        double r = rsqrt(dot(d, d) + 1e-9);
        f = f + cross(d, me) * (r * r * r) - d * sin(r);
    }
    out[threadIdx.x] = f;
}
