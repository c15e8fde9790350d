// Rows of a parity check by minima: the two smallest magnitudes and the sign of a row's other messages.
extern "C" __global__ void parity_rows(const float *total, float *message, const int *first, const int *bit, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int from = first[row], to = first[row + 1];
    float low = 1e30f, second = 1e30f;
    int where = -1;
    unsigned sign = 0;
    for (int k = from; k < to; k++) {
        float v = total[bit[k]] - message[k];
        message[k] = v;
        float m = fabsf(v);
        sign ^= __float_as_uint(v);
        if (m < low) { second = low; low = m; where = k; }
        else if (m < second) second = m;
    }
    for (int k = from; k < to; k++) {
        float m = 0.75f * (k == where ? second : low);
        message[k] = __uint_as_float(__float_as_uint(m) | ((sign ^ __float_as_uint(message[k])) & 0x80000000u));
    }
}
