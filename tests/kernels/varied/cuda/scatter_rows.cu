// Adds rows of gradients to the rows of a table that the tokens name, four values at a time.
extern "C" __global__ void scatter_rows(float *table, const int *token, const float4 *grad, int tokens, int width, float scale) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= tokens) return;
    int t = token[row];
    if (t < 0) return;
    for (int k = threadIdx.x; k < width; k += blockDim.x) {
        float4 g = grad[row * width + k];
        float *p = table + (t * width + k) * 4;
        atomicAdd(p, scale * g.x);
        atomicAdd(p + 1, scale * g.y);
        atomicAdd(p + 2, scale * g.z);
        atomicAdd(p + 3, scale * g.w);
    }
}
