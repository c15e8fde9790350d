// Energy and forces of charges at short range in double precision: the complementary error function, minimum images, a list of pairs.
extern "C" __global__ void ewald_pairs(const double *place, const double *charge, const int *list, const int *start, double *force, double *energy, double beta, double cut, double box, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = place[3 * i], y = place[3 * i + 1], z = place[3 * i + 2], q = charge[i], inverse = 1.0 / box;
    double fx = 0, fy = 0, fz = 0, e = 0;
    for (int k = start[i]; k < start[i + 1]; k++) {
        int j = list[k];
        double dx = x - place[3 * j], dy = y - place[3 * j + 1], dz = z - place[3 * j + 2];
        dx -= box * rint(dx * inverse);
        dy -= box * rint(dy * inverse);
        dz -= box * rint(dz * inverse);
        double r2 = dx * dx + dy * dy + dz * dz;
        if (r2 >= cut * cut) continue;
        double r = sqrt(r2), br = beta * r, v = q * charge[j] * erfc(br) / r;
        double f = (v + q * charge[j] * beta * 1.1283791670955126 * exp(-br * br)) / r2;
        e += 0.5 * v;
        fx += f * dx;
        fy += f * dy;
        fz += f * dz;
    }
    force[3 * i] = fx;
    force[3 * i + 1] = fy;
    force[3 * i + 2] = fz;
    energy[i] = e;
}
