/* Instructions on packed halves.  A half is computed as a double, in which sums and products of f16 and bf16 are exact or rounded to odd. */
#pragma once
#include "floats.h"

enum { H_FTZ = 1, H_SAT = 2, H_RELU = 4, H_BF16 = 8, H_TO_F32 = 16 };
enum { H_ABS = 1, H_NEG = 2, H_LOW_TWICE = 4, H_HIGH_TWICE = 8, H_EXCHANGED = 12, H_UPPER_NEG = 16 };

static inline u32 bits_of(float f) {
    u32 w;
    memcpy(&w, &f, 4);
    return w;
}

static inline double half_value(u32 h, int bf16) {
    if (bf16) return as_float(h << 16);
    u32 m = h & 0x7fff, w = bits_of(as_float(m << 13) * 0x1p112f);
    w = m >= 0x7c00 ? 0x7f800000 | (m & 0x3ff) << 13 : w;
    return as_float(w | (h & 0x8000) << 16);
}

/* The pattern of a half, rounded to nearest even, from a value that is exact or rounded to odd. */
static inline u32 half_pattern(double v, int bf16) {
    float f = (float)v;
    u32 w = bits_of(f);
    double back = f;
    /* Rounded to odd: truncated, and the last bit set where something was lost. */
    u32 lost = (back != v) & (v == v), far = fabs(back) > fabs(v);
    w = lost ? (w - far) | 1 : w;
    u32 sign = w >> 16 & 0x8000, m = w & 0x7fffffff;
    if (bf16) return m > 0x7f800000 ? 0x7fff : sign | (m + 0x7fff + (m >> 16 & 1)) >> 16;
    u32 small = bits_of(as_float(m) + 0.5f) - 0x3f000000;
    u32 large = ((m + 0xfff + (m >> 13 & 1)) >> 13) - (112 << 10);
    large = m > 0x477fffff || large > 0x7c00 ? 0x7c00 : large;
    u32 h = m < 0x38800000 ? small : large;
    return m > 0x7f800000 ? 0x7fff : sign | h;
}

/* A sum rounded to odd. */
static inline double odd_sum(double a, double b) {
    double v = a + b, t = v - a, e = (a - (v - t)) + (b - t);
    u64 w;
    memcpy(&w, &v, 8);
    i64 step = (e > 0) == (v > 0) ? 1 : -1;
    w += (e > 0) | (e < 0) && !(w & 1) ? step : 0;
    return as_double(w);
}

static inline u32 finished_half(double v, i32 how) {
    int bf16 = how & H_BF16;
    u32 h = half_pattern(v, bf16), top = bf16 ? 0x7f80 : 0x7c00, one = bf16 ? 0x3f80 : 0x3c00;
    if (how & H_FTZ) h = h & top ? h : h & 0x8000;
    if (how & H_RELU) h = h & 0x8000 ? 0 : h;
    if (how & H_SAT) h = h & 0x8000 || (h & 0x7fff) > top || !h ? 0 : h > one ? one : h;
    return h;
}

/* The halves of a source as doubles. */
static void halves_of(const State *s, const Rows *r, const Op *o, int k, i64 at, i64 n, double *low, double *high) {
    u32 t[PIECE];
    const u32 *v = source(s, r, o, k, at, n, t, 0);
    i32 how = o->p[k], bf16 = o->x & H_BF16, which = how & 12;
    i32 first = which == H_HIGH_TWICE || which == H_EXCHANGED ? 16 : 0, second = which == H_LOW_TWICE || which == H_EXCHANGED ? 0 : 16;
    EACH low[i] = half_value(v[i] >> first & 0xffff, bf16);
    EACH high[i] = half_value(v[i] >> second & 0xffff, bf16);
    for (int part = 0; part < 2; part++) {
        double *x = part ? high : low, least = bf16 ? 0x1p-126 : 0x1p-14;
        if (o->x & H_FTZ) EACH x[i] = fabs(x[i]) < least ? copysign(0, x[i]) : x[i];
        if (how & H_ABS) EACH x[i] = fabs(x[i]);
        if (how & H_NEG) EACH x[i] = -x[i];
        if (part && how & H_UPPER_NEG) EACH x[i] = -x[i];
    }
}

/* An instruction on halves, for n threads from `at` on where `mask` (NULL: all) is set. */
static void step_halves(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    u32 td[PIECE];
    TO;
    if (o->code == F2FP) {
        u32 ta[PIECE], tb[PIECE];
        const u32 *va, *vb;
        A, B;
        EACH d[i] = finished_half(as_float(vb[i]), o->x) | finished_half(as_float(va[i]), o->x) << 16;
        DONE;
        return;
    }
    double a[2][PIECE], b[2][PIECE], c[2][PIECE];
    halves_of(s, r, o, 0, at, n, a[0], a[1]);
    halves_of(s, r, o, 1, at, n, b[0], b[1]);
    if (o->code == HFMA2) halves_of(s, r, o, 2, at, n, c[0], c[1]);
    for (int k = 0; k < (o->x & H_TO_F32 ? 1 : 2); k++) {
        if (o->code == HADD2) EACH a[k][i] = odd_sum(a[k][i], b[k][i]);
        else if (o->code == HMUL2) EACH a[k][i] = a[k][i] * b[k][i];
        else EACH a[k][i] = odd_sum(a[k][i] * b[k][i], c[k][i]);
    }
    if (o->x & H_TO_F32) {
        EACH d[i] = canonical((float)a[0][i]);
        finish(d, n, o->x & (H_FTZ | H_SAT));
    } else EACH d[i] = finished_half(a[0][i], o->x) | finished_half(a[1][i], o->x) << 16;
    DONE;
}
