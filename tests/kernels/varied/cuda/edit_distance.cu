// The edit distance of pairs of words of 12 letters, one pair a thread.
extern "C" __global__ void edit_distance(const unsigned char *a, const unsigned char *b, int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *p = a + t * 12, *q = b + t * 12;
    int row[13];
    for (int j = 0; j <= 12; j++) row[j] = j;
    for (int i = 1; i <= 12; i++) {
        int left = i, diagonal = i - 1;
        row[0] = i;
        for (int j = 1; j <= 12; j++) {
            int cost = diagonal + (p[i - 1] != q[j - 1]);
            diagonal = row[j];
            left = min(cost, min(diagonal, left) + 1);
            row[j] = left;
        }
    }
    out[t] = row[12];
}
