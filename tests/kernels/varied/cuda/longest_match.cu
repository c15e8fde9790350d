// Longest match of each position within the window before it, at most 16 bytes.
extern "C" __global__ void longest_match(const unsigned char *x, unsigned *out, int n, int window) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = 0, at = 0;
    for (int d = 1; d <= window && d <= i; d++) {
        int k = 0;
        while (k < 16 && i + k < n && x[i + k] == x[i + k - d]) k++;
        if (k > best) { best = k; at = d; }
    }
    out[i] = best << 16 | at;
}
