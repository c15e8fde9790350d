#ifdef __CUDACC__
struct Body { float x, y, z, m; };
extern "C" __global__ void nbody(const Body *b, float *ax, float *ay, float *az, int n) {
    __shared__ Body s[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    Body me = b[i];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < n; t += 32) {
        s[threadIdx.x] = b[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 32; j++) {
            float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
            float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float inv = 1.0f / sqrtf(r2);
            float f = s[j].m * inv * inv * inv;
            x += f * dx; y += f * dy; z += f * dz;
        }
        __syncthreads();
    }
    ax[i] = x; ay[i] = y; az[i] = z;
}
#else
#include "case.h"
int main() {
    Lcg g(7); int n = 64;
    std::vector<float> b(4 * n), X(n), Y(n), Z(n);
    for (auto &v : b) v = g.unit() * 2 - 1;
    for (int i = 0; i < n; i++) b[4 * i + 3] = g.unit() + 0.1f;
    for (int i = 0; i < n; i++) {
        double x = 0, y = 0, z = 0;
        for (int j = 0; j < n; j++) {
            double dx = (double)b[4 * j] - b[4 * i], dy = (double)b[4 * j + 1] - b[4 * i + 1], dz = (double)b[4 * j + 2] - b[4 * i + 2];
            double r2 = dx * dx + dy * dy + dz * dz + 0.01, f = b[4 * j + 3] / (r2 * sqrt(r2));
            x += f * dx; y += f * dy; z += f * dz;
        }
        X[i] = x; Y[i] = y; Z[i] = z;
    }
    Case c("nbody", 2, 32); c.input(b); c.output(X, 1e-4); c.output(Y, 1e-4); c.output(Z, 1e-4); c.scalar(n); c.done();
}
#endif
