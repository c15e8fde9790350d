/* Instructions on floats and conversions. */
#pragma once
#include "rows.h"

static inline u32 canonical(float f) {
    u32 w, nan = -(u32)(f != f);
    memcpy(&w, &f, 4);
    return (w & ~nan) | (0x7fffffffu & nan);
}
static inline u64 canonical64(double f) {
    u64 w, nan = -(u64)(f != f);
    memcpy(&w, &f, 8);
    return (w & ~nan) | (0xfff8000000000000u & nan);
}
static inline float as_float(u32 w) {
    float f;
    memcpy(&f, &w, 4);
    return f;
}
static inline double as_double(u64 w) {
    double f;
    memcpy(&f, &w, 8);
    return f;
}
static inline u32 flushed(u32 w) { return w & 0x7f800000u ? w : w & 0x80000000u; }
static inline u32 saturated(u32 w) {
    float f = as_float(w);
    return f > 0 ? (f < 1 ? w : 0x3f800000u) : 0;
}
/* Flushes and saturates results. */
static void finish(u32 *d, i64 n, i32 how) {
    if (how & S_FTZ) EACH d[i] = flushed(d[i]);
    if (how & S_SAT) EACH d[i] = saturated(d[i]);
}

/* Comparisons of floats: bit 3 for true on NaNs; 14 and 15 ask for numbers and for NaNs. */
#define COMPARE_FLOATS(AS, u, w)                                                                                       \
    switch (o->x) {                                                                                                    \
    case 0: EACH f[i] = 0; break;                                                                                      \
    case 1: EACH f[i] = 1; break;                                                                                      \
    case 2: EACH f[i] = AS(u[i]) < AS(w[i]); break;                                                                    \
    case 3: EACH f[i] = AS(u[i]) <= AS(w[i]); break;                                                                   \
    case 4: EACH f[i] = AS(u[i]) > AS(w[i]); break;                                                                    \
    case 5: EACH f[i] = AS(u[i]) >= AS(w[i]); break;                                                                   \
    case 6: EACH f[i] = AS(u[i]) == AS(w[i]); break;                                                                   \
    case 7: EACH f[i] = (AS(u[i]) < AS(w[i])) | (AS(u[i]) > AS(w[i])); break;                                          \
    case 8: EACH f[i] = !(AS(u[i]) >= AS(w[i])); break;                                                                \
    case 9: EACH f[i] = !(AS(u[i]) > AS(w[i])); break;                                                                 \
    case 10: EACH f[i] = !(AS(u[i]) <= AS(w[i])); break;                                                               \
    case 11: EACH f[i] = !(AS(u[i]) < AS(w[i])); break;                                                                \
    case 12: EACH f[i] = !((AS(u[i]) < AS(w[i])) | (AS(u[i]) > AS(w[i]))); break;                                      \
    case 13: EACH f[i] = AS(u[i]) != AS(w[i]); break;                                                                  \
    case 14: EACH f[i] = (AS(u[i]) == AS(u[i])) & (AS(w[i]) == AS(w[i])); break;                                       \
    default: EACH f[i] = (AS(u[i]) != AS(u[i])) | (AS(w[i]) != AS(w[i]));                                              \
    }

static inline u32 least(u32 a, u32 b, int less_wanted, i32 how) {
    float x = as_float(a), y = as_float(b);
    int less = (x < y) | ((x == y) & (int)(a >> 31));
    float v = less == less_wanted ? x : y;
    if (how & 4) v = (x != x) | (y != y) ? NAN : v;
    else v = x != x ? y : y != y ? x : v;
    return canonical(v);
}

/* An integral number as an integer of up to 32 bits between two others; processors convert to signed ones, so it is moved there and back. */
static inline u32 integer_of(double v, double least, double most, u32 nan) {
    double near = v < least ? least : v;
    near = near > most ? most : near;
    near = v != v ? 0 : near;
    u32 w = least < 0 ? (u32)(i32)near : (u32)(i32)(near - 0x1p31) + 0x80000000u;
    return v != v ? nan : w;
}

/* An instruction on floats, for n threads from `at` on where `mask` (NULL: all) is set. */
static void step_floats(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    u32 ta[PIECE], tb[PIECE], tc[PIECE], td[PIECE];
    u64 la[PIECE], lb[PIECE], lc[PIECE];
    u8 f[PIECE], pa[PIECE];
    const u32 *va, *vb, *vc;
    TO;
    switch (o->code) {
    case FADD:
    case FMUL:
        A, B;
        if (o->x & S_FTZ) {
            EACH ta[i] = flushed(va[i]);
            EACH tb[i] = flushed(vb[i]);
            va = ta, vb = tb;
        }
        if (o->code == FADD) EACH d[i] = canonical(as_float(va[i]) + as_float(vb[i]));
        else EACH d[i] = canonical(as_float(va[i]) * as_float(vb[i]));
        finish(d, n, o->x);
        DONE;
        return;
    case FFMA:
        A, B, C;
        if (o->x & S_FTZ) {
            EACH ta[i] = flushed(va[i]);
            EACH tb[i] = flushed(vb[i]);
            EACH tc[i] = flushed(vc[i]);
            va = ta, vb = tb, vc = tc;
        }
        EACH d[i] = canonical(__builtin_fmaf(as_float(va[i]), as_float(vb[i]), as_float(vc[i])));
        finish(d, n, o->x);
        DONE;
        return;
    case FSETP:
        A, B;
        if (o->z) {
            EACH ta[i] = flushed(va[i]);
            EACH tb[i] = flushed(vb[i]);
            va = ta, vb = tb;
        }

        { COMPARE_FLOATS(as_float, va, vb) }
        settle(s, r, o, at, n, f, o->y, mask);
        return;
    case DSETP:
        source64(s, r, o, 0, at, n, la);
        source64(s, r, o, 1, at, n, lb);
        { COMPARE_FLOATS(as_double, la, lb) }
        settle(s, r, o, at, n, f, o->y, mask);
        return;
    case FMNMX: {
        A, B;
        if (o->x & S_FTZ) {
            EACH ta[i] = flushed(va[i]);
            EACH tb[i] = flushed(vb[i]);
            va = ta, vb = tb;
        }
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        EACH d[i] = least(va[i], vb[i], p[i], o->x);
        DONE;
        return;
    }
    case I2F:
        A;
        /* x: 1 signed; y: rounding, as of F2I. */
        EACH {
            double v = o->x ? (double)(i32)va[i] : (double)va[i];
            float f = (float)v;
            double back = f;
            u32 w;
            memcpy(&w, &f, 4);
            /* Rounded to nearest, one step too far in the direction that is not allowed. */
            int up = back > v, down = back < v, negative = v < 0;
            int less = o->y == 1 ? up : o->y == 2 ? 0 : o->y == 3 ? (negative ? 0 : up) : 0;
            int more = o->y == 1 ? 0 : o->y == 2 ? down : o->y == 3 ? (negative ? down : 0) : 0;
            d[i] = w + (negative ? less - more : more - less);
        }
        DONE;
        return;
    case I2D:
        A;
        if (o->x) EACH la[i] = canonical64((double)(i32)va[i]);
        else EACH la[i] = canonical64((double)va[i]);
        put64(r, o->d, at, n, la, mask);
        return;
    case F2I: {
        /* x: 1 signed, 2 NaN gives 0, 4 flushed; y: rounding (0 nearest, 1 down, 2 up, 3 to zero); z: bits. */
        A;
        if (o->x & 4) {
            EACH ta[i] = flushed(va[i]);
            va = ta;
        }
        double least = o->x & 1 ? -ldexp(1, o->z - 1) : 0, most = ldexp(1, o->x & 1 ? o->z - 1 : o->z) - 1;
        u32 nan = o->x & 2 ? 0 : 1u << (o->z - 1);
        switch (o->y) {
        case 0: EACH d[i] = integer_of(rint(as_float(va[i])), least, most, nan); break;
        case 1: EACH d[i] = integer_of(floor(as_float(va[i])), least, most, nan); break;
        case 2: EACH d[i] = integer_of(ceil(as_float(va[i])), least, most, nan); break;
        default: EACH d[i] = integer_of(trunc(as_float(va[i])), least, most, nan);
        }
        DONE;
        return;
    }
    case DADD:
    case DMUL:
    case DFMA:
        source64(s, r, o, 0, at, n, la);
        source64(s, r, o, 1, at, n, lb);
        if (o->code == DADD) EACH lc[i] = canonical64(as_double(la[i]) + as_double(lb[i]));
        else if (o->code == DMUL) EACH lc[i] = canonical64(as_double(la[i]) * as_double(lb[i]));
        else {
            source64(s, r, o, 2, at, n, lc);
            EACH lc[i] = canonical64(__builtin_fma(as_double(la[i]), as_double(lb[i]), as_double(lc[i])));
        }
        put64(r, o->d, at, n, lc, mask);
        return;
    case F2F64:
        A;
        EACH la[i] = canonical64((double)as_float(o->x ? flushed(va[i]) : va[i]));
        put64(r, o->d, at, n, la, mask);
        return;
    case F2F32:
        source64(s, r, o, 0, at, n, la);
        EACH d[i] = canonical((float)as_double(la[i]));
        finish(d, n, o->x);
        DONE;
        return;
    case RCP:
        A;
        EACH d[i] = canonical((float)(1.0 / (double)as_float(flushed(va[i]))));
        finish(d, n, S_FTZ);
        DONE;
        return;
    case RSQ:
        A;
        EACH d[i] = canonical((float)(1.0 / __builtin_sqrt((double)as_float(flushed(va[i])))));
        finish(d, n, S_FTZ);
        DONE;
        return;
    case EX2:
        A;
        for (i64 i = 0; i < n; i++) d[i] = !mask || mask[i] ? canonical((float)exp2((double)as_float(flushed(va[i])))) : 0;
        finish(d, n, S_FTZ);
        DONE;
        return;
    case LG2:
        A;
        for (i64 i = 0; i < n; i++) d[i] = !mask || mask[i] ? canonical((float)log2((double)as_float(flushed(va[i])))) : 0;
        finish(d, n, S_FTZ);
        DONE;
        return;
    case SIN:
    case COS:
        A;
        for (i64 i = 0; i < n; i++) {
            if (mask && !mask[i]) continue;
            double v = as_float(flushed(va[i])), angle = (v - floor(v)) * (2 * M_PI);
            d[i] = canonical((float)(o->code == COS ? cos(angle) : v == 0 ? v : sin(angle)));
        }
        finish(d, n, S_FTZ);
        DONE;
        return;
    case FCHK:
        A, B;
        EACH {
            i32 p = va[i] >> 23 & 255, q = vb[i] >> 23 & 255, k = p - q;
            f[i] = (p == 255) | (p <= 25) | (q <= 2) | (q >= 252) | (k > 125) | (k < -123);
        }
        put_flag(r, o->q[0], at, n, f, mask);
        return;
    case SQRT:
        A;
        EACH d[i] = canonical((float)__builtin_sqrt((double)as_float(flushed(va[i]))));
        finish(d, n, S_FTZ);
        DONE;
        return;
    }
}
