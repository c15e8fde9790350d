// Fluxes of the Euler equations over the faces of tetrahedra: -1 is a wall, -2 the far field.
struct State { float density, mx, my, mz, energy; };
__device__ State read(const float *v, int i, int n) { return {v[i], v[i + n], v[i + 2 * n], v[i + 3 * n], v[i + 4 * n]}; }
extern "C" __global__ void euler_flux(int n, const int *faces, const float *normals, const float *values, const float *far, float *out) {
    const float gamma = 1.4f, smoothing = 0.2f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State a = read(values, i, n);
    float vx = a.mx / a.density, vy = a.my / a.density, vz = a.mz / a.density;
    float v2 = vx * vx + vy * vy + vz * vz, speed = sqrtf(v2);
    float p = (gamma - 1.0f) * (a.energy - 0.5f * a.density * v2), c = sqrtf(gamma * p / a.density);
    float f0 = 0, f1 = 0, f2 = 0, f3 = 0, f4 = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int nb = faces[i + j * n];
        float nx = normals[i + (j * 3) * n], ny = normals[i + (j * 3 + 1) * n], nz = normals[i + (j * 3 + 2) * n];
        float length = sqrtf(nx * nx + ny * ny + nz * nz);
        if (nb >= 0) {
            State b = read(values, nb, n);
            float wx = b.mx / b.density, wy = b.my / b.density, wz = b.mz / b.density;
            float w2 = wx * wx + wy * wy + wz * wz;
            float q = (gamma - 1.0f) * (b.energy - 0.5f * b.density * w2), d = sqrtf(gamma * q / b.density);
            float k = -length * smoothing * 0.5f * (speed + sqrtf(w2) + c + d);
            f0 += k * (a.density - b.density);
            f4 += k * (a.energy - b.energy);
            f1 += k * (a.mx - b.mx);
            f2 += k * (a.my - b.my);
            f3 += k * (a.mz - b.mz);
            float flow = 0.5f * (nx * (a.mx + b.mx) + ny * (a.my + b.my) + nz * (a.mz + b.mz));
            f0 += flow;
            f4 += 0.5f * ((a.energy + p) * (nx * vx + ny * vy + nz * vz) + (b.energy + q) * (nx * wx + ny * wy + nz * wz));
            float u = nx * vx + ny * vy + nz * vz, w = nx * wx + ny * wy + nz * wz;
            f1 += 0.5f * (u * a.mx + w * b.mx + nx * (p + q));
            f2 += 0.5f * (u * a.my + w * b.my + ny * (p + q));
            f3 += 0.5f * (u * a.mz + w * b.mz + nz * (p + q));
        } else if (nb == -1) {
            f1 += nx * p;
            f2 += ny * p;
            f3 += nz * p;
        } else {
            State b = {far[0], far[1], far[2], far[3], far[4]};
            float wx = b.mx / b.density, wy = b.my / b.density, wz = b.mz / b.density, w = nx * wx + ny * wy + nz * wz, u = nx * vx + ny * vy + nz * vz;
            float q = (gamma - 1.0f) * (b.energy - 0.5f * b.density * (wx * wx + wy * wy + wz * wz));
            f0 += 0.5f * (nx * (a.mx + b.mx) + ny * (a.my + b.my) + nz * (a.mz + b.mz));
            f4 += 0.5f * ((a.energy + p) * u + (b.energy + q) * w);
            f1 += 0.5f * (u * a.mx + w * b.mx + nx * (p + q));
            f2 += 0.5f * (u * a.my + w * b.my + ny * (p + q));
            f3 += 0.5f * (u * a.mz + w * b.mz + nz * (p + q));
        }
    }
    out[i] = f0;
    out[i + n] = f1;
    out[i + 2 * n] = f2;
    out[i + 3 * n] = f3;
    out[i + 4 * n] = f4;
}
