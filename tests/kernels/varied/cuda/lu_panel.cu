// LU without pivots of 16 by 16 matrices in shared memory, a warp each.
extern "C" __global__ void lu_panel(float *a) {
    __shared__ float m[16][17];
    int t = threadIdx.x;
    float *own = a + blockIdx.x * 256;
    for (int i = t; i < 256; i += 32) m[i >> 4][i & 15] = own[i];
    __syncwarp();
    for (int k = 0; k < 15; k++) {
        if (t > k && t < 16) m[t][k] /= m[k][k];
        __syncwarp();
        for (int i = t; i < 256; i += 32) {
            int r = i >> 4, c = i & 15;
            if (r > k && c > k) m[r][c] -= m[r][k] * m[k][c];
        }
        __syncwarp();
    }
    for (int i = t; i < 256; i += 32) own[i] = m[i >> 4][i & 15];
}
