#include "cuda_like.h"
struct M { double m[3][3]; };
DEV inline M operator*(const M &a, const M &b) { M c; for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { double s = 0; for (int k = 0; k < 3; k++) s += a.m[i][k] * b.m[k][j]; c.m[i][j] = s; } return c; }
DEV inline double det(const M &a) { return a.m[0][0] * (a.m[1][1] * a.m[2][2] - a.m[1][2] * a.m[2][1]) - a.m[0][1] * (a.m[1][0] * a.m[2][2] - a.m[1][2] * a.m[2][0]) + a.m[0][2] * (a.m[1][0] * a.m[2][1] - a.m[1][1] * a.m[2][0]); }
CONST M table[4];
GLOBAL void k_matrix(const M *a, M *b, double *d, int n)
{
    int i = bid() * dim() + tid();
    M p = a[i] * table[n & 3];
    b[i] = p * p;
    d[i] = det(p) / (double)n;
}
GLOBAL void k_power(const M *a, double *d, unsigned n)
{
    M r = a[tid()], p = r;
    while (n) { if (n & 1) r = r * p; p = p * p; n >>= 1; }
    d[tid()] = -det(r);
}
