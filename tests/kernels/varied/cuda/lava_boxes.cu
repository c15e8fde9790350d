// Forces between particles of a box and those of its neighbours, a block a box; the neighbour's particles stay in shared memory.
extern "C" __global__ void lava_boxes(const int *neighbours, const int *count, const float4 *place, const float *charge, float4 *force, float alpha) {
    const int room = 48, most = 27;
    __shared__ float4 own[room], other[room];
    __shared__ float weight[room];
    int box = blockIdx.x, a2i = threadIdx.x;
    float a2 = 2.0f * alpha * alpha;
    for (int k = a2i; k < room; k += blockDim.x) own[k] = place[box * room + k];
    for (int j = 0; j <= count[box]; j++) {
        int at = j == 0 ? box : neighbours[box * most + j - 1];
        __syncthreads();
        for (int k = a2i; k < room; k += blockDim.x) {
            other[k] = place[at * room + k];
            weight[k] = charge[at * room + k];
        }
        __syncthreads();
        for (int i = a2i; i < room; i += blockDim.x) {
            float4 f = force[box * room + i];
            float4 a = own[i];
            for (int k = 0; k < room; k++) {
                float4 b = other[k];
                float r2 = a.w + b.w - (a.x * b.x + a.y * b.y + a.z * b.z);
                float v = __expf(-a2 * r2), fs = 2.0f * v;
                f.x += weight[k] * fs * (a.x - b.x);
                f.y += weight[k] * fs * (a.y - b.y);
                f.z += weight[k] * fs * (a.z - b.z);
                f.w += weight[k] * v;
            }
            force[box * room + i] = f;
        }
    }
}
