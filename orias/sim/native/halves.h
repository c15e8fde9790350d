/* Instructions on pairs of f16 or bf16, and conversions with a rounding.  A half is an f32, which holds it exactly. */
#pragma once
#include "floats.h"

enum { NEAREST, DOWN, UP, TO_ZERO };
enum { H_BF16 = 4, H_RELU = 8, H_FINITE = 16, H_F32 = 32, H_NAN = 64, H_BOTH = 128, H_ONE = 256 }; /* With S_FTZ and S_SAT, in x. */
/* Which halves of a word an operand takes: as they are, the lower or upper one twice, exchanged, the upper one negated. */
enum { STRAIGHT, LOWER, UPPER, EXCHANGED, UPPER_NEGATED };

static inline float from_half(u32 h) {
    u32 m = (h & 0x7fffu) << 13, e = m & 0x0f800000u;
    u32 w = e == 0x0f800000u ? m + (224u << 23) : m + (112u << 23);
    float small = as_float(m + (113u << 23)) - 0x1p-14f;
    u32 bits;
    memcpy(&bits, &small, 4);
    return as_float((e ? w : bits) | (h & 0x8000u) << 16);
}
static inline float from_bf16(u32 h) { return as_float(h << 16); }

/* What a rounding adds to a magnitude of which `rest` of a unit is lost; `half`: half of the unit. */
static inline u32 rounds_up(u32 rest, u32 half, u32 odd, u32 negative, int mode) {
    return mode == NEAREST ? (rest > half) | ((rest == half) & odd) : mode == DOWN ? (rest != 0) & negative : mode == UP ? (rest != 0) & !negative : 0;
}
/* The pattern of an f32 rounded to a half, with the NaN of the hardware. */
static inline u32 to_half(u32 w, int mode) {
    u32 m = w & 0x7fffffffu, sign = w >> 16 & 0x8000u, e = m >> 23, negative = w >> 31;
    u32 shift = e > 112 ? 13 : e < 95 ? 31 : 126 - e, mantissa = e ? (m & 0x7fffffu) | 0x800000u : m;
    u32 x = e > 112 ? m - (112u << 23) : mantissa, rest = x & ((1u << shift) - 1), q = x >> shift;
    q += rounds_up(rest, 1u << (shift - 1), q & 1, negative, mode);
    u32 end = mode == TO_ZERO || (mode == DOWN && !negative) || (mode == UP && negative) ? 0x7bffu : 0x7c00u;
    q = q >= 0x7c00u ? end : q;
    q = m >= 0x7f800000u ? 0x7c00u : q;
    return m > 0x7f800000u ? 0x7fffu : q | sign;
}
static inline u32 to_bf16(u32 w, int mode) {
    u32 q = w >> 16, m = w & 0x7fffffffu;
    q += m < 0x7f800000u ? rounds_up(w & 0xffffu, 0x8000u, q & 1, w >> 31, mode) : 0;
    return m > 0x7f800000u ? 0x7fffu : q;
}
/* A sum of f64 rounded to odd in f32, given what it lost: a later rounding to a half gives what the exact sum would. */
static inline u32 to_odd(double s, double lost) {
    u64 b, l, sign = (u64)1 << 63;
    memcpy(&b, &s, 8);
    memcpy(&l, &lost, 8);
    /* The error is finite where the sum is; towards the side where the exact sum lies, unless it is odd already. */
    u64 inexact = (lost != 0) & (lost - lost == 0) ? ~b & 1 : 0;
    b = inexact ? ((l ^ b) & sign ? b - 1 : b + 1) : b;
    double v = as_double(b);
    float r = (float)v;
    u32 w;
    memcpy(&w, &r, 4);
    double back = r;
    u64 over = __builtin_fabs(back) > __builtin_fabs(v), other = back != v, nan = v != v;
    w = (w - (u32)over) | (u32)other;
    return nan ? 0x7fffffffu : w;
}
static inline double lost_in(double x, double y, double s) {
    double t = s - x;
    return (x - (s - t)) + (y - t);
}
/* Ends a half: flushed, without negative numbers, saturated. */
static inline u32 ended(u32 h, i32 how) {
    u32 exponent = how & H_BF16 ? 0x7f80u : 0x7c00u, one = how & H_BF16 ? 0x3f80u : 0x3c00u;
    h = how & S_FTZ && !(h & exponent) ? h & 0x8000u : h;
    h = how & H_RELU && h & 0x8000u ? 0 : h;
    if (how & S_SAT) h = (h & 0x8000u) || h > exponent ? 0 : h > one ? one : h;
    return h;
}

/* The halves of a source for n threads as f32.  Its flags: those of a float, and 256 times what it takes of the word. */
static void pairs(const State *s, const Rows *r, const Op *o, int k, i64 at, i64 n, float *low, float *high) {
    u32 t[PIECE];
    Op plain = *o;
    i32 flag = o->flag[k], take = flag >> 8;
    plain.flag[k] = 0;
    const u32 *v = source(s, r, &plain, k, at, n, t, 0);
    u32 from = take == UPPER || take == EXCHANGED ? 16 : 0, to = take == LOWER || take == EXCHANGED ? 0 : 16;
    u32 keep = flag & F_ABS ? 0x7fffu : 0xffffu, flip = flag & F_SIGN ? 0x8000u : 0, also = take == UPPER_NEGATED ? 0x8000u : 0;
    u32 exponent = o->x & H_BF16 ? 0x7f80u : 0x7c00u, ftz = o->x & S_FTZ;
    for (int half = 0; half < 2; half++) {
        float *d = half ? high : low;
        u32 shift = half ? to : from, sign = half ? flip ^ also : flip;
        u32 h[PIECE];
        EACH h[i] = (v[i] >> shift & keep) ^ sign;
        if (ftz) EACH h[i] = h[i] & exponent ? h[i] : h[i] & 0x8000u;
        if (o->x & H_BF16) EACH d[i] = from_bf16(h[i]);
        else EACH d[i] = from_half(h[i]);
    }
}

/* A word of two halves from f32 that were rounded to odd. */
static void put_halves(u32 *d, i64 n, u32 *low, u32 *high, i32 how) {
    if (how & H_BF16) {
        EACH low[i] = to_bf16(low[i], NEAREST);
        EACH high[i] = to_bf16(high[i], NEAREST);
    } else {
        EACH low[i] = to_half(low[i], NEAREST);
        EACH high[i] = to_half(high[i], NEAREST);
    }
    if (how & (S_FTZ | S_SAT | H_RELU)) {
        EACH low[i] = ended(low[i], how);
        EACH high[i] = ended(high[i], how);
    }
    EACH d[i] = low[i] | high[i] << 16;
}

static void arithmetic(i32 code, i64 n, const float *a, const float *b, const float *c, u32 *d) {
    if (code == HADD2) EACH {
        double x = a[i], y = b[i], s = x + y;
        d[i] = to_odd(s, lost_in(x, y, s));
    } else if (code == HMUL2) EACH d[i] = to_odd((double)a[i] * b[i], 0);
    else EACH {
        double x = (double)a[i] * b[i], y = c[i], s = x + y;
        d[i] = to_odd(s, lost_in(x, y, s));
    }
}

static inline double integral(double v, int mode) {
    return mode == NEAREST ? rint(v) : mode == DOWN ? floor(v) : mode == UP ? ceil(v) : trunc(v);
}

/* An instruction on halves or a conversion, for n threads from `at` on where `mask` (NULL: all) is set. */
static void step_halves(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    u32 ta[PIECE], tb[PIECE], tc[PIECE], td[PIECE];
    float a0[PIECE], a1[PIECE], b0[PIECE], b1[PIECE], c0[PIECE], c1[PIECE];
    u8 f[PIECE], g[PIECE], pa[PIECE];
    u64 la[PIECE];
    const u32 *va, *vb, *vc;
    TO;
    switch (o->code) {
    case HADD2:
    case HMUL2:
    case HFMA2:
        pairs(s, r, o, 0, at, n, a0, a1);
        pairs(s, r, o, 1, at, n, b0, b1);
        if (o->code == HFMA2) pairs(s, r, o, 2, at, n, c0, c1);
        arithmetic(o->code, n, a0, b0, c0, ta);
        if (o->x & H_F32) {
            if (o->code == HADD2) EACH d[i] = canonical(a0[i] + b0[i]);
            finish(d, n, o->x);
            DONE;
            return;
        }
        arithmetic(o->code, n, a1, b1, c1, tb);
        put_halves(d, n, ta, tb, o->x);
        DONE;
        return;
    case HMNMX2: {
        pairs(s, r, o, 0, at, n, a0, a1);
        pairs(s, r, o, 1, at, n, b0, b1);
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        i32 nan = o->x & H_NAN ? 4 : 0;
        memcpy(ta, a0, 4 * n);
        memcpy(tb, b0, 4 * n);
        EACH ta[i] = least(ta[i], tb[i], p[i], nan);
        memcpy(tb, a1, 4 * n);
        memcpy(tc, b1, 4 * n);
        EACH tb[i] = least(tb[i], tc[i], p[i], nan);
        put_halves(d, n, ta, tb, o->x & H_BF16);
        DONE;
        return;
    }
    case HSETP2:
    case HSET2: {
        /* y: the comparison, and 16 times how it is combined with the predicate. */
        Op compared = *o;
        compared.x = o->y & 15;
        pairs(s, r, o, 0, at, n, a0, a1);
        pairs(s, r, o, 1, at, n, b0, b1);
        {
            const Op *o = &compared;
            COMPARE_FLOATS(, a0, b0)
            u8 *low = f;
            EACH g[i] = f[i];
            COMPARE_FLOATS(, a1, b1)
            EACH pa[i] = low[i];
        }
        /* g: the lower halves, pa: the upper ones. */
        u8 t[PIECE];
        const u8 *p = predicate(s, r, o->p[0], at, n, t);
        if (o->x & H_BOTH) {
            EACH g[i] &= pa[i];
            EACH pa[i] = g[i] ^ 1;
        }
        combine(g, p, n, o->y >> 4);
        combine(pa, p, n, o->y >> 4);
        if (o->code == HSETP2) {
            put_flag(r, o->q[0], at, n, g, mask);
            put_flag(r, o->q[1], at, n, pa, mask);
            return;
        }
        u32 yes = o->x & H_ONE ? (o->x & H_BF16 ? 0x3f80u : 0x3c00u) : 0xffffu;
        EACH d[i] = (g[i] ? yes : 0) | (pa[i] ? yes << 16 : 0);
        DONE;
        return;
    }
    case F2FP: {
        /* Two f32, the first one for the upper half.  y: the rounding. */
        A, B;
        i32 mode = o->y, top = o->x & H_BF16 ? 0x7f80 : 0x7c00;
        if (o->x & H_BF16) EACH ta[i] = to_bf16(va[i], mode), tb[i] = to_bf16(vb[i], mode);
        else EACH ta[i] = to_half(va[i], mode), tb[i] = to_half(vb[i], mode);
        if (o->x & H_RELU) EACH ta[i] = ta[i] & 0x8000u ? 0 : ta[i], tb[i] = tb[i] & 0x8000u ? 0 : tb[i];
        if (o->x & H_FINITE) EACH ta[i] -= (ta[i] & 0x7fff) == top, tb[i] -= (tb[i] & 0x7fff) == top;
        EACH d[i] = ta[i] << 16 | tb[i];
        DONE;
        return;
    }
    case F2H:
        A;
        if (o->x & S_FTZ) {
            EACH ta[i] = flushed(va[i]);
            va = ta;
        }
        if (o->x & H_BF16) EACH d[i] = to_bf16(va[i], o->y);
        else EACH d[i] = to_half(va[i], o->y);
        DONE;
        return;
    case I2H:
        /* z: 1 signed. */
        A;
        if (o->z) EACH ta[i] = to_odd((double)(i32)va[i], 0);
        else EACH ta[i] = to_odd((double)va[i], 0);
        if (o->x & H_BF16) EACH d[i] = to_bf16(ta[i], o->y);
        else EACH d[i] = to_half(ta[i], o->y);
        DONE;
        return;
    case FRND:
        A;
        EACH {
            u32 w = o->x & S_FTZ ? flushed(va[i]) : va[i];
            d[i] = canonical((float)integral(as_float(w), o->y));
        }
        finish(d, n, o->x);
        DONE;
        return;
    case F2L:
        /* To 64 bits.  x: 1 signed, 2 NaN gives 0, 4 flushed. */
        A;
        EACH {
            double v = integral(as_float(o->x & 4 ? flushed(va[i]) : va[i]), o->y);
            u64 nan = o->x & 2 ? 0 : (u64)1 << 63;
            if (o->x & 1) la[i] = v != v ? nan : v < -0x1p63 ? (u64)1 << 63 : v >= 0x1p63 ? ~(u64)0 >> 1 : (u64)(i64)v;
            else la[i] = v != v ? nan : v < 0 ? 0 : v >= 0x1p64 ? ~(u64)0 : v >= 0x1p63 ? (u64)(i64)(v - 0x1p63) | (u64)1 << 63 : (u64)(i64)v;
        }
        put64(r, o->d, at, n, la, mask);
        return;
    }
}
