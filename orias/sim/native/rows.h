/* Sources, predicates and results of n threads from one on. */
#pragma once
#include "state.h"

static u8 ones[PIECE], zeros[PIECE];

static void change(u32 *t, const u32 *v, i64 n, i32 flag) {
    if (flag & I_ABS) EACH t[i] = (i32)v[i] < 0 ? 0u - v[i] : v[i];
    else if (flag & F_ABS) EACH t[i] = v[i] & 0x7fffffffu;
    else memcpy(t, v, 4 * n);
    if (flag & F_INV) EACH t[i] = ~t[i];
    if (flag & F_NEG) EACH t[i] = 0u - t[i];
    if (flag & F_SIGN) EACH t[i] ^= 0x80000000u;
}

/* The words of a source for n threads from `at` on. */
static const u32 *source(const State *s, const Rows *r, const Op *o, int k, i64 at, i64 n, u32 *t, int upper) {
    const u32 *v = t;
    i32 number = (i32)o->value[k] + upper;
    switch (o->kind[k]) {
    case REGISTER:
        if (o->flag[k] & UNSIGNED_WORD && upper) EACH t[i] = 0;
        else v = r->rows + number * r->width + at;
        break;
    case UNIFORM:
        EACH t[i] = s->uniform[number * s->warps + ((at + i) >> 5)];
        break;
    default: {
        u32 w = o->kind[k] == IMMEDIATE ? (upper ? o->high[k] : o->value[k]) : s->bank[o->high[k]][number];
        EACH t[i] = w;
    }
    }
    i32 flag = o->flag[k] & ~(WIDE | UNSIGNED_WORD);
    if (flag) {
        change(t, v, n, flag);
        v = t;
    }
    return v;
}

static void source64(const State *s, const Rows *r, const Op *o, int k, i64 at, i64 n, u64 *out) {
    u32 a[PIECE], b[PIECE];
    if (o->kind[k] == REGISTER && !o->flag[k]) {
        const u32 *v = r->rows + (i64)o->value[k] * r->width + at, *w = v + r->width;
        EACH out[i] = (u64)w[i] << 32 | v[i];
        return;
    }
    Op plain = *o;
    i32 flag = o->flag[k];
    plain.flag[k] = flag & UNSIGNED_WORD;
    const u32 *low = source(s, r, &plain, k, at, n, a, 0), *high = source(s, r, &plain, k, at, n, b, 1);
    EACH out[i] = (u64)high[i] << 32 | low[i];
    if (flag & F_ABS) EACH out[i] &= 0x7fffffffffffffffu;
    if (flag & F_INV) EACH out[i] = ~out[i];
    if (flag & F_NEG) EACH out[i] = 0 - out[i];
    if (flag & F_SIGN) EACH out[i] ^= 0x8000000000000000u;
}

/* The values of a predicate: its number, 8 for its complement, and 16 for a uniform one. */
static const u8 *predicate(const State *s, const Rows *r, i32 code, i64 at, i64 n, u8 *t) {
    i32 number = code & 7;
    if (number == 7) return code & 8 ? zeros : ones;
    if (code & 16) {
        const u8 *row = s->uniform_predicates + number * s->warps;
        u8 flip = code & 8 ? 1 : 0;
        EACH t[i] = row[(at + i) >> 5] ^ flip;
        return t;
    }
    const u8 *v = r->flags + number * r->width + at;
    if (!(code & 8)) return v;
    EACH t[i] = v[i] ^ 1;
    return t;
}

static void put(const Rows *r, i32 d, i64 at, i64 n, const u32 *v, const u8 *mask) {
    if (d < 0) return;
    u32 *to = r->rows + d * r->width + at;
    if (!mask) memcpy(to, v, 4 * n);
    else EACH to[i] = mask[i] ? v[i] : to[i];
}

static void put_flag(const Rows *r, i32 q, i64 at, i64 n, const u8 *v, const u8 *mask) {
    if (q == 7) return;
    u8 *to = r->flags + q * r->width + at;
    if (!mask) memcpy(to, v, n);
    else EACH to[i] = mask[i] ? v[i] : to[i];
}

static void put64(const Rows *r, i32 d, i64 at, i64 n, const u64 *v, const u8 *mask) {
    if (d < 0) return;
    u32 *low = r->rows + (i64)d * r->width + at, *high = low + r->width;
    if (!mask) {
        EACH low[i] = (u32)v[i];
        EACH high[i] = v[i] >> 32;
    } else {
        EACH low[i] = mask[i] ? (u32)v[i] : low[i];
        EACH high[i] = mask[i] ? v[i] >> 32 : high[i];
    }
}

static i64 count(const u8 *mask, i64 n) {
    i64 c = 0;
    for (i64 i = 0; i < n; i++) c += mask[i];
    return c;
}

/* The bits of 32 flags. */
static inline u32 lanes_of(const u8 *f) {
    u32 w = 0;
    for (int k = 0; k < 4; k++) {
        u64 v;
        memcpy(&v, f + 8 * k, 8);
        w |= (u32)(v * 0x0102040810204080u >> 56) << 8 * k;
    }
    return w;
}

/* Whether none of n flags, a multiple of 8, is set. */
static inline int none(const u8 *f, i64 n) {
    u64 any = 0, v;
    for (i64 i = 0; i < n; i += 8) {
        memcpy(&v, f + i, 8);
        any |= v;
    }
    return !any;
}

/* 0 AND, 1 OR, 2 XOR of predicates. */
static void combine(u8 *f, const u8 *p, i64 n, i32 how) {
    if (how == 0) EACH f[i] &= p[i];
    else if (how == 1) EACH f[i] |= p[i];
    else EACH f[i] ^= p[i];
}

/* The result of a comparison in its two predicates. */
static void settle(const State *s, const Rows *r, const Op *o, i64 at, i64 n, u8 *f, i32 logic, const u8 *mask) {
    u8 t[PIECE], g[PIECE];
    const u8 *p = predicate(s, r, o->p[0], at, n, t);
    if (o->q[1] != 7) {
        EACH g[i] = f[i] ^ 1;
        combine(g, p, n, logic);
    }
    combine(f, p, n, logic);
    put_flag(r, o->q[0], at, n, f, mask);
    if (o->q[1] != 7) put_flag(r, o->q[1], at, n, g, mask);
}

/* The sources as words, and the row of the result where all threads write it (else a row of its own, which DONE copies). */
#define A (va = source(s, r, o, 0, at, n, ta, 0))
#define B (vb = source(s, r, o, 1, at, n, tb, 0))
#define C (vc = source(s, r, o, 2, at, n, tc, 0))
#define TO u32 *d = mask || o->d < 0 ? td : r->rows + o->d * r->width + at
#define DONE if (d == td) put(r, o->d, at, n, d, mask)
