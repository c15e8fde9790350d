// Points times a matrix of 4x4, by vectors of four.
extern "C" __global__ void transform4(const float4 *in, float4 *out, const float4 *m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 p = in[i], a = m[0], b = m[1], c = m[2], d = m[3];
    out[i] = make_float4(a.x * p.x + a.y * p.y + a.z * p.z + a.w * p.w, b.x * p.x + b.y * p.y + b.z * p.z + b.w * p.w,
                         c.x * p.x + c.y * p.y + c.z * p.z + c.w * p.w, d.x * p.x + d.y * p.y + d.z * p.z + d.w * p.w);
}
