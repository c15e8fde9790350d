/* Executes runs of common instructions on the rows of registers of a batch, with the results of the numpy builders.
 *
 * An instruction is an Op (orias/sim/native/translate.py makes it).  Instructions that cannot fail work on pieces of PIECE
 * threads, so that what several of them touch stays in the first cache; an access to memory is checked for all threads first,
 * and then done.  A run stops before the first instruction that is not known here, or whose access needs a closer look. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

#define PIECE 1024
#define NO_ALIAS _Pragma("GCC ivdep")
#define EACH NO_ALIAS for (i64 i = 0; i < n; i++)

enum { REGISTER, IMMEDIATE, CONSTANT, UNIFORM };
enum { F_ABS = 1, F_SIGN = 2, F_INV = 4, F_NEG = 8, I_ABS = 16, WIDE = 32, UNSIGNED_WORD = 64 };
enum {
    NONE, BRA, NOP, MOV, MOV64, IADD3, IADDC, IMAD, IMADX, IMADW, IMADH, LEA, LEAC, LEAH, SHF, LOP3, LOP3P, PLOP3, SEL, ISETP, IMNMX, PRMT,
    POPC, FADD, FMUL, FFMA, FSETP, FSEL, FMNMX, I2F, DADD, DMUL, DFMA, DSETP, F2F64, F2F32, RCP, RSQ, SQRT, LDC, F2I, I2D, IABS, SHFL, VOTE,
    FIRST_MEMORY, LOAD = FIRST_MEMORY, STORE
};
enum { GLOBAL, SHARED, LOCAL, GENERIC };
enum { S_FTZ = 1, S_SAT = 2 };
enum { FALSE = 15 }; /* The code of a predicate that never holds. */

typedef struct {
    i32 code, guard, d;
    i32 uniform; /* 1: works on uniform registers; 2: on whole warps of threads */
    i32 kind[3], flag[3];
    u32 value[3], high[3];
    i32 p[3], q[2];
    i32 x, y, z;
    i32 closely; /* An access that has once been left to its builder: it is checked for all threads before any of them goes on. */
} Op;

typedef struct {
    u32 *registers, *uniform;
    u8 *predicates, *uniform_predicates;
    const u32 *bank[8];
    u8 *arena, *shared, *local;
    const i64 *shared_words, *starts, *ends;
    u64 *address;
    i64 threads, warps, allocations, arena_base, shared_size, shared_reach, local_stride, local_base, local_size, local_reach;
    i64 shared_window, window_bits, local_window, may_store;
    i64 steps, instructions;
    i64 pieces; /* Pieces whose next instructions are in `places`; 0: all are at the one that is returned. */
    i64 *places;
} State;

/* The rows that an instruction works on: those of threads, or with uniform instructions those of warps. */
typedef struct {
    u32 *rows;
    u8 *flags;
    i64 width;
} Rows;

static u8 ones[PIECE], zeros[PIECE];

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

#define COMPARE(T, u, w)                                                                                               \
    switch (o->x & 15) {                                                                                               \
    case 0: EACH f[i] = 0; break;                                                                                      \
    case 1: EACH f[i] = 1; break;                                                                                      \
    case 2: EACH f[i] = (T)(u[i]) < (T)(w[i]); break;                                                                  \
    case 3: EACH f[i] = (T)(u[i]) <= (T)(w[i]); break;                                                                 \
    case 4: EACH f[i] = (T)(u[i]) > (T)(w[i]); break;                                                                  \
    case 5: EACH f[i] = (T)(u[i]) >= (T)(w[i]); break;                                                                 \
    case 6: EACH f[i] = (T)(u[i]) == (T)(w[i]); break;                                                                 \
    default: EACH f[i] = (T)(u[i]) != (T)(w[i]);                                                                       \
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

static u32 shifted(u32 low, u32 amount, u32 high, i32 how) {
    int left = how & 1, wrap = how & 2, wide = how & 4, sign = how & 8, upper = how & 16;
    u32 limit = wide ? 64 : 32, k = wrap ? amount & (limit - 1) : amount < limit ? amount : limit;
    u64 v = (u64)high << 32 | low, w;
    if (left) w = k < 64 ? v << k : 0;
    else if (sign) w = (u64)((i64)v >> (k < 63 ? k : 63));
    else w = k < 64 ? v >> k : 0;
    return upper ? w >> 32 : w;
}

static inline u32 permuted(u32 a, u32 s, u32 b) {
    u64 v = (u64)b << 32 | a;
    u32 w = 0;
    for (int k = 0; k < 4; k++) {
        u32 c = s >> 4 * k;
        u32 byte = v >> 8 * (c & 7) & 255;
        if (c & 8) byte = byte & 128 ? 255 : 0;
        w |= byte << 8 * k;
    }
    return w;
}

static inline u32 least(u32 a, u32 b, int less_wanted, i32 how) {
    float x = as_float(a), y = as_float(b);
    int less = (x < y) | ((x == y) & (int)(a >> 31));
    float v = less == less_wanted ? x : y;
    if (how & 4) v = (x != x) | (y != y) ? NAN : v;
    else v = x != x ? y : y != y ? x : v;
    return canonical(v);
}

#define A (va = source(s, r, o, 0, at, n, ta, 0))
#define B (vb = source(s, r, o, 1, at, n, tb, 0))
#define C (vc = source(s, r, o, 2, at, n, tc, 0))
#define TO u32 *d = mask || o->d < 0 ? td : r->rows + o->d * r->width + at
#define DONE if (d == td) put(r, o->d, at, n, d, mask)
#define LOP(e) { EACH d[i] = e; break; }

static void step(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    u32 ta[PIECE], tb[PIECE], tc[PIECE], td[PIECE];
    u64 la[PIECE], lb[PIECE], lc[PIECE];
    u8 f[PIECE], pa[PIECE], pb[PIECE], pc[PIECE];
    const u32 *va, *vb, *vc;
    TO;
    switch (o->code) {
    case NOP: return;
    case MOV:
        A;
        put(r, o->d, at, n, va, mask);
        return;
    case MOV64:
        source64(s, r, o, 0, at, n, la);
        put64(r, o->d, at, n, la, mask);
        return;
    case IADD3:
        A, B;
        if (o->kind[2] == IMMEDIATE && o->value[2] == 0 && !o->flag[2]) { EACH d[i] = va[i] + vb[i]; }
        else {
            C;
            EACH d[i] = va[i] + vb[i] + vc[i];
        }
        DONE;
        return;
    case IADDC: {
        /* Bits 0 to 2 of x: negated sources, as complements and ones. */
        A, B, C;
        u32 na = o->x & 1 ? ~0u : 0, nb = o->x & 2 ? ~0u : 0, nc = o->x & 4 ? ~0u : 0;
        u64 extra = (o->x & 1) + (o->x >> 1 & 1) + (o->x >> 2 & 1);
        const u8 *p = predicate(s, r, o->p[0], at, n, pa), *q = predicate(s, r, o->p[1], at, n, pb);
        EACH la[i] = extra + (va[i] ^ na) + (u64)(vb[i] ^ nb) + (vc[i] ^ nc) + p[i] + q[i];
        EACH td[i] = (u32)la[i];
        put(r, o->d, at, n, td, mask);
        EACH f[i] = (la[i] >> 32) > 0;
        put_flag(r, o->q[0], at, n, f, mask);
        EACH f[i] = (la[i] >> 32) > 1;
        put_flag(r, o->q[1], at, n, f, mask);
        return;
    }
    case IMAD:
        A, B, C;
        EACH d[i] = va[i] * vb[i] + vc[i];
        DONE;
        return;
    case IMADX: {
        /* x: 1 the product, 2 the addend is complemented. */
        A, B, C;
        u32 na = o->x & 1 ? ~0u : 0, nc = o->x & 2 ? ~0u : 0;
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        EACH la[i] = (u64)((va[i] * vb[i]) ^ na) + (vc[i] ^ nc) + p[i];
        EACH td[i] = (u32)la[i];
        put(r, o->d, at, n, td, mask);
        EACH f[i] = la[i] >> 32 != 0;
        put_flag(r, o->q[0], at, n, f, mask);
        return;
    }
    case IMADW:
    case IMADH:
        A, B;
        if (!o->x && !o->flag[2] && (o->kind[2] == CONSTANT || o->kind[2] == IMMEDIATE)) {
            source64(s, r, o, 2, at, 1, lc);
            u64 addend = lc[0];
            EACH la[i] = (u64)va[i] * vb[i] + addend;
        } else {
            source64(s, r, o, 2, at, n, lc);
            if (o->x & 1) EACH la[i] = (u64)((i64)(i32)va[i] * (i32)vb[i]);
            else EACH la[i] = (u64)va[i] * vb[i];
            if (o->x & 2) EACH la[i] = 0 - la[i];
            EACH la[i] += lc[i];
        }
        if (o->code == IMADW) put64(r, o->d, at, n, la, mask);
        else {
            EACH td[i] = la[i] >> 32;
            put(r, o->d, at, n, td, mask);
        }
        return;
    case LEA:
        A, B;
        EACH d[i] = (va[i] << o->y) + vb[i];
        DONE;
        return;
    case LEAC:
    case LEAH: {
        /* x: 1 and 2 negated sources, 4 the sign of the first one above it; y: the shift. */
        A, B;
        i32 negate_a = o->x & 1;
        if (o->code == LEAH) {
            if (o->x & 4) EACH tc[i] = (u32)((i32)va[i] >> 31);
            vc = o->x & 4 ? tc : source(s, r, o, 2, at, n, tc, 0);
            EACH {
                u64 v = (u64)vc[i] << 32 | va[i];
                if (negate_a) v = 0 - v;
                td[i] = (v << o->y) >> 32;
            }
            negate_a = 0;
        } else EACH td[i] = va[i] << o->y;
        u32 na = negate_a ? ~0u : 0, nb = o->x & 2 ? ~0u : 0;
        u64 extra = (negate_a ? 1 : 0) + (o->x >> 1 & 1);
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        if (o->q[0] == 7) {
            u32 more = (u32)extra;
            EACH d[i] = more + (td[i] ^ na) + (vb[i] ^ nb) + p[i];
            DONE;
            return;
        }
        if (!extra && o->p[0] == FALSE) {
            EACH {
                u32 sum = td[i] + vb[i];
                f[i] = sum < td[i];
                d[i] = sum;
            }
            DONE;
            put_flag(r, o->q[0], at, n, f, mask);
            return;
        }
        EACH la[i] = extra + (td[i] ^ na) + (u64)(vb[i] ^ nb) + p[i];
        EACH td[i] = (u32)la[i];
        put(r, o->d, at, n, td, mask);
        EACH f[i] = la[i] >> 32 != 0;
        put_flag(r, o->q[0], at, n, f, mask);
        return;
    }
    case SHF:
        A, B, C;
        if (o->x == 1 && o->kind[1] == IMMEDIATE && o->value[1] < 32) {
            u32 k = o->value[1];
            EACH d[i] = va[i] << k;
        } else if (o->x == 16 && o->kind[1] == IMMEDIATE && o->value[1] < 32 && o->kind[0] == IMMEDIATE) {
            u32 k = o->value[1];
            EACH d[i] = vc[i] >> k;
        } else if (o->x == 24 && o->kind[1] == IMMEDIATE && o->value[1] < 32) {
            u32 k = o->value[1];
            EACH d[i] = (u32)((i32)vc[i] >> k);
        } else EACH d[i] = shifted(va[i], vb[i], vc[i], o->x);
        DONE;
        return;
    case LOP3:
    case LOP3P: {
        A, B, C;
        if (o->code == LOP3P) d = td;
        u32 m[8];
        for (int k = 0; k < 8; k++) m[k] = o->x >> k & 1 ? ~0u : 0;
        switch (o->x) {
        case 0xc0: LOP(va[i] & vb[i])
        case 0xfc: LOP(va[i] | vb[i])
        case 0x3c: LOP(va[i] ^ vb[i])
        case 0x30: LOP(va[i] & ~vb[i])
        case 0x33: LOP(~vb[i])
        case 0x0f: LOP(~va[i])
        case 0x80: LOP(va[i] & vb[i] & vc[i])
        case 0xfe: LOP(va[i] | vb[i] | vc[i])
        case 0x96: LOP(va[i] ^ vb[i] ^ vc[i])
        case 0xf8: LOP(va[i] | (vb[i] & vc[i]))
        case 0xea: LOP((va[i] & vb[i]) | vc[i])
        case 0xca: LOP((va[i] & vb[i]) | (~va[i] & vc[i]))
        case 0xe2: LOP((vb[i] & va[i]) | (~vb[i] & vc[i]))
        case 0xb8: LOP((vb[i] & vc[i]) | (~vb[i] & va[i]))
        default:
            EACH {
                u32 a = va[i], b = vb[i], c = vc[i], e = ~a, g = ~b, h = ~c;
                d[i] = (m[0] & e & g & h) | (m[1] & e & g & c) | (m[2] & e & b & h) | (m[3] & e & b & c) | (m[4] & a & g & h) |
                       (m[5] & a & g & c) | (m[6] & a & b & h) | (m[7] & a & b & c);
            }
        }
        if (o->code == LOP3) {
            DONE;
            return;
        }
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        EACH f[i] = td[i] != 0;
        combine(f, p, n, o->y);
        put(r, o->d, at, n, td, mask);
        put_flag(r, o->q[0], at, n, f, mask);
        return;
    }
    case PLOP3: {
        const u8 *p = predicate(s, r, o->p[0], at, n, pa), *q = predicate(s, r, o->p[1], at, n, pb);
        const u8 *w = predicate(s, r, o->p[2], at, n, pc);
        u8 g[PIECE];
        EACH f[i] = o->x >> (p[i] * 4 + q[i] * 2 + w[i]) & 1;
        EACH g[i] = o->y >> (p[i] * 4 + q[i] * 2 + w[i]) & 1;
        put_flag(r, o->q[0], at, n, f, mask);
        put_flag(r, o->q[1], at, n, g, mask);
        return;
    }
    case SEL:
    case FSEL: {
        A, B;
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        EACH d[i] = p[i] ? va[i] : vb[i];
        DONE;
        return;
    }
    case ISETP: {
        /* x: comparison, 16 signed, 32 continues that of lower words; y: logic. */
        A, B;
        if (o->x & 16) { COMPARE(i32, va, vb) } else { COMPARE(u32, va, vb) }
        if (o->x & 32) {
            const u8 *p = predicate(s, r, o->p[1], at, n, pb);
            EACH f[i] = va[i] == vb[i] ? p[i] : f[i];
        }
        settle(s, r, o, at, n, f, o->y, mask);
        return;
    }
    case IMNMX: {
        A, B;
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        if (o->x) EACH d[i] = ((i32)va[i] < (i32)vb[i]) == p[i] ? va[i] : vb[i];
        else EACH d[i] = (va[i] < vb[i]) == p[i] ? va[i] : vb[i];
        DONE;
        return;
    }
    case PRMT:
        A, B, C;
        EACH d[i] = permuted(va[i], vb[i], vc[i]);
        DONE;
        return;
    case POPC:
        A;
        EACH d[i] = __builtin_popcount(va[i]);
        DONE;
        return;
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
        if (o->x) EACH d[i] = canonical((float)(i32)va[i]);
        else EACH d[i] = canonical((float)va[i]);
        DONE;
        return;
    case I2D:
        A;
        if (o->x) EACH la[i] = canonical64((double)(i32)va[i]);
        else EACH la[i] = canonical64((double)va[i]);
        put64(r, o->d, at, n, la, mask);
        return;
    case F2I:
        /* x: 1 signed, 2 NaN gives 0, 4 flushed; y: rounding (0 nearest, 1 down, 2 up, 3 to zero). */
        A;
        EACH {
            double v = as_float(o->x & 4 ? flushed(va[i]) : va[i]);
            v = o->y == 0 ? rint(v) : o->y == 1 ? floor(v) : o->y == 2 ? ceil(v) : trunc(v);
            if (o->x & 1) d[i] = v != v ? (o->x & 2 ? 0 : 0x80000000u) : v < -2147483648.0 ? 0x80000000u : v >= 2147483648.0 ? 0x7fffffffu : (u32)(i32)v;
            else d[i] = v != v ? (o->x & 2 ? 0 : 0x80000000u) : v < 0 ? 0 : v >= 4294967296.0 ? 0xffffffffu : (u32)(i64)v;
        }
        DONE;
        return;
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
    case SQRT:
        A;
        EACH d[i] = canonical((float)__builtin_sqrt((double)as_float(flushed(va[i]))));
        finish(d, n, S_FTZ);
        DONE;
        return;
    case IABS:
        A;
        EACH d[i] = (i32)va[i] < 0 ? 0u - va[i] : va[i];
        DONE;
        return;
    case SHFL:
        /* x: 0 a lane, 1 up, 2 down, 3 exclusive or.  All threads of the warps take part. */
        A, B, C;
        for (i64 w = 0; w < n; w += 32)
            for (i32 k = 0; k < 32; k++) {
                i32 b = vb[w + k] & 31, c = vc[w + k], clamp = c & 31, segment = c >> 8 & 31, low = k & segment;
                i32 high = low | (clamp & ~segment);
                i32 j = o->x == 0 ? low | (b & ~segment) : o->x == 1 ? k - b : o->x == 2 ? k + b : k ^ b;
                f[w + k] = o->x == 1 ? j >= high : j <= high;
                td[w + k] = va[w + ((f[w + k] ? j : k) & 31)];
            }
        put(r, o->d, at, n, td, 0);
        put_flag(r, o->q[0], at, n, f, 0);
        return;
    case VOTE: {
        /* x: 0 all, 1 any, 2 equal. */
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        for (i64 w = 0; w < n; w += 32) {
            u32 ballot = 0;
            for (i32 k = 0; k < 32; k++) ballot |= (u32)p[w + k] << k;
            u8 yes = o->x == 0 ? ballot == ~0u : o->x == 1 ? ballot != 0 : ballot == 0 || ballot == ~0u;
            for (i32 k = 0; k < 32; k++) td[w + k] = ballot, f[w + k] = yes;
        }
        put(r, o->d, at, n, td, 0);
        put_flag(r, o->q[0], at, n, f, 0);
        return;
    }
    case LDC:
        /* x: words. */
        for (i32 k = 0; k < o->x; k++) {
            u32 w = s->bank[o->high[0]][o->value[0] + k];
            EACH td[i] = w;
            put(r, o->d < 0 ? -1 : o->d + k, at, n, td, mask);
        }
        return;
    }
}

/* The allocation that holds an offset, -1 if there is none. */
static i64 allocation(const State *s, i64 offset) {
    i64 low = 0, high = s->allocations;
    while (low < high) {
        i64 k = (low + high) >> 1;
        if (s->starts[k] <= offset) low = k + 1;
        else high = k;
    }
    return low && offset < s->ends[low - 1] ? low - 1 : -1;
}

typedef struct {
    i64 low, high;
    u64 bits;
} Span;

/* Offsets of an access by threads in the memory, into a; widens the span.  0: an address of another memory.
 * x of the Op: bytes, 256 signed, 512 a load whose result is not in its address; y: memory, and 16 times the shift of the
 * base; z: offset.  Source 0: the base, 1: a uniform one. */
static int offsets(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *on, u64 *a, Span *span) {
    i64 space = o->y & 15, low = span->low, high = span->high;
    u64 any = 0, t[PIECE];
    if (space == GLOBAL || space == GENERIC) {
        u64 add = (u64)(i64)o->z;
        if (space == GLOBAL && !on && o->kind[0] == REGISTER && !o->flag[0] && o->kind[1] == IMMEDIATE) {
            const u32 *v = r->rows + (i64)o->value[0] * r->width + at, *w = v + r->width;
            add -= s->arena_base;
            EACH {
                u64 b = ((u64)w[i] << 32 | v[i]) + add;
                a[i] = b;
                any |= b;
                low = (i64)b < low ? (i64)b : low;
                high = (i64)b > high ? (i64)b : high;
            }
            span->low = low;
            span->high = high;
            span->bits |= any;
            return 1;
        }
        if (o->kind[0] == REGISTER && !o->flag[0]) {
            const u32 *v = r->rows + (i64)o->value[0] * r->width + at, *w = v + r->width;
            EACH a[i] = ((u64)w[i] << 32 | v[i]) + add;
        } else {
            source64(s, r, o, 0, at, n, a);
            EACH a[i] += add;
        }
        if (o->kind[1] != IMMEDIATE) {
            source64(s, r, o, 1, at, n, t);
            EACH a[i] += t[i];
        }
        if (space == GENERIC) {
            u64 other = 0, bits = s->window_bits, shared = s->shared_window, local = s->local_window;
            if (on) EACH other |= ((a[i] >> bits == shared) | (a[i] >> 24 == local)) & on[i];
            else EACH other |= (a[i] >> bits == shared) | (a[i] >> 24 == local);
            if (other) return 0;
        }
        u64 base = s->arena_base;
        EACH a[i] -= base;
    } else {
        u32 x[PIECE], y[PIECE], z = (u32)o->z, k = o->y >> 4;
        const u32 *v = source(s, r, o, 0, at, n, x, 0);
        if (o->kind[1] == IMMEDIATE) EACH a[i] = (u32)((v[i] << k) + z);
        else {
            const u32 *w = source(s, r, o, 1, at, n, y, 0);
            EACH a[i] = (u32)((v[i] << k) + w[i] + z);
        }
        if (space == LOCAL) {
            u64 base = s->local_base;
            EACH a[i] = (a[i] & 0xffffff) - base;
        }
    }
    if (on) {
        EACH {
            i64 m = -(i64)on[i], v = a[i], least = (v & m) | (INT64_MAX & ~m), most = (v & m) | (INT64_MIN & ~m);
            any |= v & m;
            low = least < low ? least : low;
            high = most > high ? most : high;
        }
    } else EACH {
        i64 v = a[i];
        any |= a[i];
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    span->low = low;
    span->high = high;
    span->bits |= any;
    return 1;
}

/* Checks offsets and makes them addresses of this process; 0 if they have to be looked at closely. */
static int addresses(State *s, const Op *o, i64 at, i64 n, const u8 *on, u64 *a, const Span *span) {
    i64 size = o->x & 255, space = o->y & 15;
    if ((span->bits & (size - 1)) || span->low < 0) return 0;
    if (space == GLOBAL || space == GENERIC) {
        u64 base = (u64)s->arena;
        i64 k = allocation(s, span->low);
        if (k < 0 || span->high + size > s->ends[k]) {
            k = -1;
            for (i64 i = 0; i < n; i++) {
                if (on && !on[i]) continue;
                i64 v = a[i];
                if (k < 0 || v < s->starts[k] || v >= s->ends[k]) k = allocation(s, v);
                if (k < 0 || v + size > s->ends[k]) return 0;
            }
        }
        EACH a[i] += base;
        return 1;
    }
    i64 end = span->high + size;
    if (space == SHARED) {
        if (!s->shared || end > s->shared_size) return 0;
        if (end > s->shared_reach) s->shared_reach = end;
        const i64 *words = s->shared_words + at;
        u64 base = (u64)s->shared;
        EACH a[i] += base + 4 * words[i];
        return 1;
    }
    if (!s->local || end > s->local_size) return 0;
    if (end > s->local_reach) s->local_reach = end;
    u64 stride = s->local_stride, base = (u64)s->local + at * stride;
    EACH a[i] += base + i * stride;
    return 1;
}

#define AT(T, a) (*(const T *)(a))

static void load(const Rows *r, const Op *o, i64 first, i64 stop, const u8 *mask, const u64 *from) {
    i64 size = o->x & 255, sign = o->x & 256;
    if (o->d < 0) return;
    for (i64 at = first; at < stop; at += 32) {
        i64 n = stop - at < 32 ? stop - at : 32;
        const u64 *a = from + (at - first);
        const u8 *on = mask ? mask + (at - first) : 0;
        if (on) {
            u8 some = 0, every = 1;
            EACH some |= on[i], every &= on[i];
            if (!some) continue;
            if (every) on = 0;
        }
        u32 *d = r->rows + (i64)o->d * r->width + at;
        if (size <= 2) {
            for (i64 i = 0; i < n; i++)
                if (!on || on[i])
                    d[i] = size == 1 ? (sign ? (u32)(int8_t)AT(u8, a[i]) : AT(u8, a[i])) : (sign ? (u32)(int16_t)AT(u16, a[i]) : AT(u16, a[i]));
            continue;
        }
        if (!on && size == 4 && n == 32) {
            u64 b = a[0], row = 0, same = 0;
            for (int i = 0; i < 32; i++) row |= a[i] ^ (b + 4 * i), same |= a[i] ^ b;
            if (!row) {
                /* The next piece is likely to go on after this one. */
                memcpy(d, (const void *)b, 128);
            } else if (!same) {
                u32 w = AT(u32, b);
                for (int i = 0; i < 32; i++) d[i] = w;
            } else
                for (int i = 0; i < 32; i++) d[i] = AT(u32, a[i]);
            continue;
        }
        for (i64 k = 0; k < size >> 2; k++, d += r->width)
            for (i64 i = 0; i < n; i++)
                if (!on || on[i]) d[i] = AT(u32, a[i] + 4 * k);
    }
}

/* Stores of several threads to one place: the last thread's stays, as accesses are equal or apart. */
static void store(State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *on, const u64 *a) {
    i64 size = o->x & 255;
    u32 t[PIECE];
    for (i64 k = 0; k < (size + 3) >> 2; k++) {
        const u32 *v = source(s, r, o, 2, at, n, t, o->kind[2] == REGISTER ? k : 0);
        if (size == 1) {
            for (i64 i = 0; i < n; i++)
                if (!on || on[i]) *(u8 *)a[i] = v[i];
        } else if (size == 2) {
            for (i64 i = 0; i < n; i++)
                if (!on || on[i]) *(u16 *)a[i] = v[i];
        } else
            for (i64 i = 0; i < n; i++)
                if (!on || on[i]) *(u32 *)(a[i] + 4 * k) = v[i];
    }
}

/* An access of the threads from `first` up to `stop` with a mask (NULL: all); 0 if it was left undone. */
static int reach(State *s, const Rows *r, const Op *o, i64 first, i64 stop, const u8 *mask) {
    int apart = o->code == LOAD && o->x & 512;
    for (i64 at = first; at < stop; at += PIECE) {
        i64 n = stop - at < PIECE ? stop - at : PIECE;
        const u8 *on = mask ? mask + (at - first) : 0;
        u64 *a = apart ? s->address : s->address + (at - first);
        Span span = {INT64_MAX, INT64_MIN, 0};
        if (!offsets(s, r, o, at, n, on, a, &span)) return 0;
        if (span.low == INT64_MAX) continue;
        if (!addresses(s, o, at, n, on, a, &span)) return 0;
        if (apart) load(r, o, at, at + n, on, a);
    }
    if (apart) return 1;
    if (o->code == LOAD) load(r, o, first, stop, mask, s->address);
    else
        for (i64 at = first; at < stop; at += PIECE) {
            i64 n = stop - at < PIECE ? stop - at : PIECE;
            store(s, r, o, at, n, mask ? mask + (at - first) : 0, s->address + (at - first));
        }
    return 1;
}

/* Whether pieces of threads may run an instruction each for itself. */
static int in_pieces(const Op *o, int fused) {
    return o->code > BRA && (o->code < FIRST_MEMORY || (fused && o->code == LOAD && !o->closely));
}

/* Runs instructions from `pc` on for the threads from `first` up to `stop` where `lanes` (NULL: all) are set, `active` of them.
 * Stops at instruction `end`, after `most` steps, or where this file goes no further; returns the next instruction.
 * `jumps`: 1: branches that all threads take, or none, are followed; 2: loads are done piece by piece, as nothing is stored between
 * them.  Where the load of a piece is left undone, those before may be further on: `places` has the next instruction of each piece. */
__attribute__((visibility("default"))) i64 orias_run(State *s, Op *ops, i64 pc, i64 end, i64 last, i64 first, i64 stop, const u8 *lanes,
                                                     i64 active, i64 most, i64 jumps) {
    static u8 guard[1 << 20];
    const i64 span = stop - first;
    const Rows threads = {s->registers, s->predicates, s->threads}, warps = {s->uniform, s->uniform_predicates, s->warps};
    const int whole = active == span && !(first & 31) && !(stop & 31), fused = jumps & 2 && !(first & 31);
    i64 done = 0, instructions = 0;
    s->pieces = 0;
    if (span > (i64)sizeof guard) return pc;
    while (done < most && pc != end && pc >= 0 && pc < last) {
        const Op *o = ops + pc;
        if (o->code == NONE || (o->uniform && !whole)) break;
        if (o->code == BRA) {
            i64 taken = active;
            if (o->guard >= 0) {
                taken = 0;
                for (i64 at = first; at < stop; at += PIECE) {
                    i64 n = stop - at < PIECE ? stop - at : PIECE;
                    u8 t[PIECE];
                    const u8 *p = predicate(s, &threads, o->guard, at, n, t);
                    if (lanes) EACH taken += p[i] & lanes[at - first + i];
                    else taken += count(p, n);
                }
            }
            if (taken && taken != active) break;
            if (taken && !(jumps & 1)) break;
            done++;
            instructions += taken;
            pc = taken ? o->x : pc + 1;
            continue;
        }
        if (!in_pieces(o, fused)) {
            const u8 *mask = lanes;
            i64 n = span, here = active;
            if (o->guard >= 0) {
                here = 0;
                for (i64 at = first; at < stop; at += PIECE) {
                    u8 t[PIECE], *g = guard + (at - first);
                    n = stop - at < PIECE ? stop - at : PIECE;
                    const u8 *p = predicate(s, &threads, o->guard, at, n, t);
                    if (lanes) EACH g[i] = p[i] & lanes[at - first + i];
                    else memcpy(g, p, n);
                    here += count(g, n);
                }
                mask = here == span ? 0 : guard;
            }
            if (here) {
                if (o->code == STORE && (o->y & 15) != SHARED && (o->y & 15) != LOCAL && !s->may_store) break;
                if (!reach(s, &threads, o, first, stop, mask)) break;
            }
            done++;
            instructions += here;
            pc++;
            continue;
        }
        i64 to = pc, pieces = 0;
        while (to != end && to < last && to - pc < most - done && in_pieces(ops + to, fused) && (whole || !ops[to].uniform)) to++;
        for (i64 at = first; at < stop; at += PIECE, pieces++) {
            i64 n = stop - at < PIECE ? stop - at : PIECE;
            const u8 *on = lanes ? lanes + (at - first) : 0;
            i64 here = on ? count(on, n) : n;
            if (here == n) on = 0;
            for (i64 k = pc; here && k < to; k++) {
                Op *p = ops + k;
                if (p->uniform == 1) {
                    step(s, &warps, p, at >> 5, n >> 5, 0);
                    instructions += n;
                    continue;
                }
                const u8 *mask = on;
                i64 running = here;
                u8 t[PIECE], g[PIECE];
                if (p->guard >= 0) {
                    const u8 *v = predicate(s, &threads, p->guard, at, n, t);
                    if (on) EACH g[i] = v[i] & on[i];
                    else memcpy(g, v, n);
                    running = count(g, n);
                    if (!running) continue;
                    mask = running == n ? 0 : g;
                }
                if (p->code == LOAD) {
                    Span reached = {INT64_MAX, INT64_MIN, 0};
                    if (!offsets(s, &threads, p, at, n, mask, s->address, &reached) || !addresses(s, p, at, n, mask, s->address, &reached)) {
                        p->closely = 1;
                        to = k;
                        break;
                    }
                    load(&threads, p, at, at + n, mask, s->address);
                } else step(s, &threads, p, at, n, mask);
                instructions += running;
            }
            s->places[pieces] = to;
        }
        done += to - pc;
        pc = to;
        if (s->places[0] != pc) {
            s->pieces = pieces;
            break;
        }
    }
    s->steps = done;
    s->instructions = instructions;
    return pc;
}

__attribute__((constructor)) static void begin(void) { memset(ones, 1, sizeof ones); }
