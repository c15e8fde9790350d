// Which boxes overlap more than a share of their union: a bit for each pair, 64 boxes a block.
extern "C" __global__ void boxes_overlap(const float4 *box, unsigned long long *mask, int n, float share) {
    __shared__ float4 s[64];
    int row = blockIdx.y, column = blockIdx.x, rows = min(n - row * 64, 64), columns = min(n - column * 64, 64), t = threadIdx.x;
    if (t < columns) s[t] = box[column * 64 + t];
    __syncthreads();
    if (t >= rows) return;
    float4 a = box[row * 64 + t];
    float area = (a.z - a.x) * (a.w - a.y);
    unsigned long long bits = 0;
    for (int i = row == column ? t + 1 : 0; i < columns; i++) {
        float4 b = s[i];
        float w = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.f), h = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.f);
        if (w * h > share * (area + (b.z - b.x) * (b.w - b.y) - w * h)) bits |= 1ull << i;
    }
    mask[(size_t)(row * 64 + t) * gridDim.x + column] = bits;
}
