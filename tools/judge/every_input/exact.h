/* Exact results of PTX instructions, from C's own arithmetic and exact integers.  Nothing here knows the simulator or the folder. */
#pragma once
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef __int128 i128;
typedef unsigned __int128 u128;

#define INLINE static inline __attribute__((always_inline))

enum { RN, RZ, RM, RP, RNA };
enum { FTZ = 1, SAT = 2, RELU = 4, FINITE = 8 };

INLINE float f32(u32 w) {
    float f;
    memcpy(&f, &w, 4);
    return f;
}
INLINE u32 bits32(float f) {
    u32 w;
    memcpy(&w, &f, 4);
    return w;
}
INLINE u64 bits64(double f) {
    u64 w;
    memcpy(&w, &f, 8);
    return w;
}

#define NONE (~(u64)0) /* No other result is right. */

/* Formats: bits of exponent and mantissa. */
#define F16 5, 10
#define BF16 8, 7
#define F32 8, 23
#define F64 11, 52
#define TF32 8, 10
#define E4M3 4, 3
#define E5M2 5, 2
#define E2M3 2, 3
#define E3M2 3, 2
#define E2M1 2, 1

/* (-1)^neg * m * 2^e, exactly; kind 0: finite, 1: infinite, 2: NaN. */
typedef struct {
    u64 m;
    i64 e;
    u64 neg, kind; /* All of one width, as vectors like it. */
} Number;

INLINE Number number(u64 w, int E, int M) {
    u64 x = w >> M & ((1u << E) - 1), f = w & (((u64)1 << M) - 1);
    Number r = {x ? f | (u64)1 << M : f, (i64)(x ? x : 1) - ((1 << (E - 1)) - 1) - M, w >> (E + M) & 1, 0};
    if (x == (1u << E) - 1) r.kind = f ? 2 : 1;
    return r;
}
/* Formats without infinities: all patterns but those of `nan` are numbers. */
INLINE Number narrow(u64 w, int E, int M, u64 nan) {
    Number r = number(w, E, M);
    u64 x = w >> M & ((1u << E) - 1), f = w & (((u64)1 << M) - 1);
    if (r.kind) r = (Number){f | (u64)1 << M, (i64)x - ((1 << (E - 1)) - 1) - M, r.neg, 0};
    if ((w & (((u64)1 << (E + M)) - 1)) == nan) r.kind = 2;
    return r;
}
INLINE Number flushed(Number x, int E, int M) {
    if (!x.kind && x.m < (u64)1 << M) x.m = 0;
    return x;
}
INLINE Number of_int(i64 v) {
    Number r = {v < 0 ? 0 - (u64)v : (u64)v, 0, v < 0, 0};
    return r;
}

/* The number of the highest bit of m, which is below 2^62 and not 0: of the exponent of m as a double, which may be rounded up. */
INLINE i64 top_bit(u64 m) {
    u64 high = m >> 32 | 0x4530000000000000u, low = (m & 0xffffffffu) | 0x4330000000000000u;
    double h, l;
    memcpy(&h, &high, 8);
    memcpy(&l, &low, 8);
    i64 top = (i64)(bits64(h - 0x1.00000001p84 + l) >> 52) - 1023;
    return m >> (top & 63) ? top : top - 1;
}

/* The magnitude's pattern rounded, without an end to the exponents; x.m is below 2^62.  No branches, so that loops are vectors. */
INLINE u64 magnitude(Number x, int E, int M, int mode) {
    const int bias = (1 << (E - 1)) - 1;
    i64 top = top_bit(x.m ? x.m : 1) + x.e, at = top < 1 - bias ? 1 - bias : top, s = at - M - x.e;
    /* All of m is below half a unit where it is shifted by 63. */
    u64 left = s < 0 ? -s : 0, right = s < 0 ? 0 : s > 63 ? 63 : s, m = x.m << left, twice = m << 1;
    u64 q = m >> right, halves = twice >> right, inexact = q << right != m, uneven = halves << right != twice, up = 0;
    if (mode == RN) up = halves & (uneven | q) & 1;
    else if (mode == RNA) up = halves & 1;
    else if (mode == RM) up = x.neg & inexact;
    else if (mode == RP) up = (x.neg ^ 1) & inexact;
    return x.m ? q + up + ((u64)(at + bias - 1) << M) : 0;
}
INLINE u64 SIGN(int E, int M) { return (u64)1 << (E + M); }
INLINE u64 INF(int E, int M) { return (u64)((1 << E) - 1) << M; }
INLINE u64 QUIET(int E, int M) { return INF(E, M) | (u64)1 << (M - 1); }

/* Saturation to [0, 1] and relu of a pattern that is not a NaN. */
INLINE u64 clamped(u64 r, int E, int M, int how) {
    u64 one = (u64)((1 << (E - 1)) - 1) << M;
    if (how & SAT) return r & SIGN(E, M) ? 0 : r > one ? one : r;
    if (how & RELU) return r & SIGN(E, M) ? 0 : r;
    return r;
}
/* A number in a format with infinities. */
INLINE u64 rounded(Number x, int E, int M, int mode, int how) {
    u64 sign = x.neg ? SIGN(E, M) : 0, inf = INF(E, M), last = inf - 1, r = magnitude(x, E, M, mode);
    u64 beyond = mode == RN || mode == RNA ? inf : mode == RZ ? last : mode == RM ? (x.neg ? inf : last) : x.neg ? last : inf;
    r = r >= inf ? (how & FINITE ? last : beyond) : r;
    if (how & FTZ) r = r < (u64)1 << M ? 0 : r;
    r = x.kind == 1 ? (how & FINITE ? last : inf) : r;
    r = clamped(sign | r, E, M, how);
    return x.kind == 2 ? (how & SAT ? 0 : QUIET(E, M)) : r;
}
/* To a narrow format, saturating to `max`; a NaN gives `nan`. */
INLINE u64 to_narrow(Number x, int E, int M, u64 max, u64 nan, int how) {
    if (x.kind == 2) return nan;
    u64 r = x.kind ? max : magnitude(x, E, M, RN);
    if (r > max) r = max;
    return how & RELU && x.neg ? 0 : (x.neg ? SIGN(E, M) : 0) | r;
}
INLINE u64 is_nan(u64 w, int E, int M) { return (w & (SIGN(E, M) - 1)) > INF(E, M); }

INLINE int same_half(u64 g, u64 o) { return g == o || (is_nan(g, F16) && is_nan(o, F16)); }

/* A number of f64 as an integer of `bits` bits, saturated; a NaN gives 0.  `v` is integral or a NaN. */
INLINE u64 saturated(double v, int bits, int is_signed) {
    double high = ldexp(1, is_signed ? bits - 1 : bits), low = is_signed ? -high : 0;
    if (bits < 64) {
        /* Vectors have conversions to i32 alone. */
        double near = v != v ? 0 : v < low ? low : v > high - 1 ? high - 1 : v;
        return is_signed ? (u64)(i64)(i32)near : (u64)(u32)((u32)(i32)(near - 0x1p31) + 0x80000000u);
    }
    if (v != v) return 0;
    if (is_signed) return v >= high ? ((u64)1 << (bits - 1)) - 1 : v < -high ? 0 - ((u64)1 << (bits - 1)) : (u64)(i64)v;
    return v >= high ? ~(u64)0 >> (64 - bits) : v < 0 ? 0 : (u64)v;
}
INLINE double integral(double v, int mode) {
    return mode == RN ? __builtin_rint(v) : mode == RZ ? __builtin_trunc(v) : mode == RM ? __builtin_floor(v) : __builtin_ceil(v);
}
/* The value of a format of up to 32 bits. */
INLINE double value(u64 w, int E, int M) {
    if (M == 23) return f32(w);
    if (E == 8) return f32((u32)w << (23 - M));
    u32 h = w, top = (h & 0x7c00u) == 0x7c00u;
    float v = f32((h & 0x7fffu) << 13) * 0x1p112f;
    v = top ? f32((h & 0x3ffu) << 13 | 0x7f800000u) : v;
    return f32(bits32(v) | (h & 0x8000u) << 16);
}
INLINE u32 flush32(u32 w) { return w & 0x7f800000u ? w : w & 0x80000000u; }

/* An f64 as a Number. */
INLINE Number exactly(double v) { return number(bits64(v), F64); }

/* The sum of two numbers whose mantissas have up to 24 bits, exact or rounded to odd in 62 bits, which a later rounding to at most 60
 * does not notice.  `down`: the sign of an exact zero of unlike signs. */
INLINE Number sum(Number a, Number b, int down) {
    if (a.kind || b.kind) {
        Number r = a.kind >= b.kind ? a : b;
        if (a.kind == 1 && b.kind == 1 && a.neg != b.neg) r.kind = 2;
        return r;
    }
    if (!a.m && !b.m) return a.neg == b.neg ? a : (Number){0, 0, down, 0};
    if (!a.m) return b;
    if (!b.m) return a;
    if (a.e < b.e) {
        Number t = a;
        a = b;
        b = t;
    }
    int s = a.e - b.e;
    u128 x, y = b.m;
    int e = b.e;
    if (s <= 100) x = (u128)a.m << s;
    else x = (u128)a.m << 100, y = 1, e = a.e - 100; /* b is too small to matter but for its being there */
    i128 v = (a.neg ? -(i128)x : (i128)x) + (b.neg ? -(i128)y : (i128)y);
    if (!v) return (Number){0, 0, down, 0};
    int neg = v < 0;
    u128 w = neg ? -(u128)v : (u128)v;
    u64 high = w >> 64;
    if (high || (u64)w >> 62) {
        int k = high ? 66 - __builtin_clzll(high) : 2;
        u64 sticky = (w & (((u128)1 << k) - 1)) != 0;
        return (Number){(u64)(w >> k) | sticky, e + k, neg, 0};
    }
    return (Number){(u64)w, e, neg, 0};
}
INLINE Number product(Number a, Number b) {
    Number r = {a.m * b.m, a.e + b.e, a.neg ^ b.neg, 0};
    if (a.kind == 2 || b.kind == 2) r.kind = 2;
    else if (a.kind || b.kind) r.kind = (!a.kind && !a.m) || (!b.kind && !b.m) ? 2 : 1;
    return r;
}
/* The number of two patterns that is smaller (or larger), -0 below +0; of one NaN the other, of two a NaN; `nan`: of one NaN a NaN. */
INLINE u64 chosen(u64 a, u64 b, int E, int M, int low, int nan) {
    int na = is_nan(a, E, M), nb = is_nan(b, E, M);
    if (na | nb) return nan || (na & nb) ? QUIET(E, M) : na ? b : a;
    i64 s = SIGN(E, M), x = a & s ? -(i64)(a & (s - 1)) - 1 : (i64)a, y = b & s ? -(i64)(b & (s - 1)) - 1 : (i64)b;
    return (x < y) == low ? a : b;
}
INLINE u64 flush(u64 w, int E, int M) { return w & INF(E, M) ? w : w & SIGN(E, M); }
/* What flushing may make of a result: a number below the least normal one that rounds up to it is subnormal or not by either reading. */
INLINE u64 tiny(Number x, u64 r, int E, int M, int how) {
    if (!(how & FTZ) || x.kind || !x.m || magnitude(x, E, M, RZ) >= (u64)1 << M) return r;
    return clamped(x.neg ? SIGN(E, M) : 0, E, M, how);
}

/* Whether the f32 `w` is within the accuracy of an approximate function of x, whose value is `want`; beyond `largest`: from -1 to 1. */
INLINE int near(double x, double want, u32 w, double relative, double absolute, double largest, int ftz) {
    double y = f32(w), size = __builtin_fabs(want), allowed = relative * size, error = __builtin_fabs(y - want);
    if (allowed < absolute) allowed = absolute;
    double normal = 0x1p-126, least = ftz ? normal : 0x1p-148;
    int ok = error <= allowed || (size < normal && error <= least);
    ok |= size * (1 + relative) > 0x1.fffffep127 && __builtin_isinf(y) && (y < 0) == (want < 0);
    ok |= (want != want && y != y) || (__builtin_isinf(want) && y == want);
    if (__builtin_fabs(x) > largest && !__builtin_isinf(x)) ok = __builtin_fabs(y) <= 1;
    if (ftz && y != 0 && __builtin_fabs(y) < normal) ok = 0;
    return ok;
}
/* The same for f16 and bf16, whose rounding counts as well. */
INLINE int near16(double x, double want, double y, double relative, double absolute, int E, int M) {
    double size = __builtin_fabs(want), allowed = relative * size, error = __builtin_fabs(y - want);
    double most = ldexp(2 - ldexp(1, -M), (1 << (E - 1)) - 1), normal = ldexp(1, 2 - (1 << (E - 1)));
    if (allowed < absolute) allowed = absolute;
    if (want != want || y != y) return want != want && y != y;
    if (size * (1 + relative) > most && __builtin_isinf(y)) return (y < 0) == (want < 0);
    return error <= allowed || (size < normal && error <= (E == 8 ? normal : ldexp(normal, -M)));
}
