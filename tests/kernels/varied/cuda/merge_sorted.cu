// Merges two sorted arrays: each thread finds the places of its elements in the other array.
__device__ int below(const int *a, int n, int x, bool equal) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (a[mid] < x || (equal && a[mid] == x)) lo = mid + 1; else hi = mid;
    }
    return lo;
}
extern "C" __global__ void merge_sorted(const int *a, const int *b, int *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i + below(b, m, a[i], false)] = a[i];
    if (i < m) out[i + below(a, n, b[i], true)] = b[i];
}
