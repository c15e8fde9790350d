// One level of the 9/7 wavelet of rows by lifting in shared memory; a block a row of up to 512 values, mirrored at the ends.
extern "C" __global__ void lifting_97(const float *in, float *out, int n) {
    __shared__ float s[512];
    const float step[4] = {-1.586134342f, -0.05298011854f, 0.8829110762f, 0.4435068522f};
    int half = n / 2, row = blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = in[row + i];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int odd = 1 - (k & 1);
        for (int i = threadIdx.x; i < half; i += blockDim.x) {
            int at = 2 * i + odd;
            float left = at == 0 ? s[1] : s[at - 1], right = at == n - 1 ? s[n - 2] : s[at + 1];
            s[at] += step[k] * (left + right);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        out[row + i] = s[2 * i] * 1.149604398f;
        out[row + half + i] = s[2 * i + 1] * 0.8698644524f;
    }
}
