struct V { float x, y, z; };
__device__ __forceinline__ V add(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ V mul(V a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ __forceinline__ float dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ V norm(V a) { return mul(a, rsqrtf(dot(a, a))); }
struct Sphere { V c; float r; V color; int kind; };
__device__ __forceinline__ bool hit(const Sphere &s, V o, V d, float &t)
{
    V oc = add(o, mul(s.c, -1));
    float b = dot(oc, d), c = dot(oc, oc) - s.r * s.r, h = b * b - c;
    if (h < 0) return false;
    h = sqrtf(h);
    t = -b - h;
    if (t < 1e-3f) t = -b + h;
    return t > 1e-3f;
}
__device__ __forceinline__ int nearest(const Sphere *s, int n, V o, V d, float &t)
{
    int best = -1;
    t = 1e30f;
    for (int i = 0; i < n; i++) { float u; if (hit(s[i], o, d, u) && u < t) { t = u; best = i; } }
    return best;
}
__global__ void k_rays(uchar4 *out, const Sphere *s, int n, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    V o = {0, 0, -3}, d = norm({(x - w * 0.5f) / w, (y - h * 0.5f) / w, 1}), color = {0, 0, 0};
    float left = 1;
    for (int bounce = 0; bounce < 5; bounce++) {
        float t;
        int k = nearest(s, n, o, d, t);
        if (k < 0) { color = add(color, mul({0.4f, 0.6f, 1}, left * fmaxf(d.y, 0))); break; }
        o = add(o, mul(d, t));
        V m = norm(add(o, mul(s[k].c, -1)));
        switch (s[k].kind) {
        case 0: color = add(color, mul(s[k].color, left * fabsf(dot(m, d)))); left = 0; break;
        case 1: d = add(d, mul(m, -2 * dot(m, d))); left *= 0.8f; break;
        case 2: d = norm(add(mul(d, 1.4f), m)); left *= powf(s[k].color.x, t); break;
        default: left *= __expf(-t); d = norm(add(d, mul(m, __sinf(t * 7)))); break;
        }
        if (left < 0.01f) break;
    }
    out[y * w + x] = make_uchar4(color.x * 255, color.y * 255, color.z * 255, 255);
}
