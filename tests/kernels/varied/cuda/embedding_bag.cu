// The mean of the rows of a table that a bag names.
extern "C" __global__ void embedding_bag(const float *table, const int *index, const int *offset, float *out, int width) {
    int bag = blockIdx.x, d = threadIdx.x, first = offset[bag], last = offset[bag + 1];
    float s = 0;
    for (int i = first; i < last; i++) s += table[(long)index[i] * width + d];
    out[bag * width + d] = last > first ? s / (last - first) : 0.f;
}
