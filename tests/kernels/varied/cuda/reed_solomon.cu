// Two words of parity of eight words of data, byte by byte in the field of 256 elements.
__device__ unsigned twice(unsigned x) { return (x & 0x7f7f7f7f) << 1 ^ (x >> 7 & 0x01010101) * 0x1d; }
extern "C" __global__ void reed_solomon(const uint4 *data, uint4 *parity, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 p = make_uint4(0, 0, 0, 0), q = p;
    for (int d = 7; d >= 0; d--) {
        uint4 v = data[d * n + i];
        p.x ^= v.x; p.y ^= v.y; p.z ^= v.z; p.w ^= v.w;
        q.x = twice(q.x) ^ v.x; q.y = twice(q.y) ^ v.y; q.z = twice(q.z) ^ v.z; q.w = twice(q.w) ^ v.w;
    }
    parity[i] = p;
    parity[n + i] = q;
}
