// Eigenvalues of symmetric 3 x 3 matrices by Jacobi's rotations, sorted.
extern "C" __global__ void eigen3(const float *a, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float m[3][3];
    m[0][0] = a[i]; m[0][1] = m[1][0] = a[n + i]; m[0][2] = m[2][0] = a[2 * n + i];
    m[1][1] = a[3 * n + i]; m[1][2] = m[2][1] = a[4 * n + i]; m[2][2] = a[5 * n + i];
    for (int sweep = 0; sweep < 6; sweep++) {
        float off = m[0][1] * m[0][1] + m[0][2] * m[0][2] + m[1][2] * m[1][2];
        if (off < 1e-12f) break;
#pragma unroll
        for (int p = 0; p < 2; p++)
#pragma unroll
            for (int q = p + 1; q < 3; q++) {
                if (fabsf(m[p][q]) < 1e-12f) continue;
                float theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
                float t = copysignf(1.0f, theta) / (fabsf(theta) + sqrtf(theta * theta + 1));
                float c = rsqrtf(t * t + 1), s = t * c;
                int r = 3 - p - q;
                float pq = m[p][q], rp = m[r][p], rq = m[r][q];
                m[p][p] -= t * pq;
                m[q][q] += t * pq;
                m[p][q] = m[q][p] = 0;
                m[r][p] = m[p][r] = c * rp - s * rq;
                m[r][q] = m[q][r] = s * rp + c * rq;
            }
    }
    float x = m[0][0], y = m[1][1], z = m[2][2], t;
    if (x > y) { t = x; x = y; y = t; }
    if (y > z) { t = y; y = z; z = t; }
    if (x > y) { t = x; x = y; y = t; }
    out[3 * i] = x; out[3 * i + 1] = y; out[3 * i + 2] = z;
}
