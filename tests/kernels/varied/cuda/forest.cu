// The sum of what 8 trees of decisions say of each row of features.
struct Node { int feature; float limit; int left; };
extern "C" __global__ void forest(const Node *node, const int *root, const float *x, float *out, int trees, int features, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int t = 0; t < trees; t++) {
        int at = root[t];
        Node k = node[at];
        while (k.feature >= 0) {
            at = k.left + (x[i * features + k.feature] > k.limit);
            k = node[at];
        }
        s += k.limit;
    }
    out[i] = s;
}
