/* Instructions on integers. */
#pragma once
#include "rows.h"

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

#define LOP(e) { EACH d[i] = e; break; }

/* The low words of sums, and in the first predicate whether there was a carry. */
static void put_sum(const Rows *r, const Op *o, i64 at, i64 n, const u64 *sums, const u8 *mask) {
    u32 low[PIECE];
    u8 carry[PIECE];
    EACH low[i] = (u32)sums[i];
    put(r, o->d, at, n, low, mask);
    EACH carry[i] = sums[i] >> 32 != 0;
    put_flag(r, o->q[0], at, n, carry, mask);
}

/* An instruction on integers, for n threads from `at` on where `mask` (NULL: all) is set. */
static void step_integers(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    u32 ta[PIECE], tb[PIECE], tc[PIECE], td[PIECE];
    u64 la[PIECE], lc[PIECE];
    u8 f[PIECE], pa[PIECE], pb[PIECE];
    const u32 *va, *vb, *vc;
    TO;
    switch (o->code) {
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
        put_sum(r, o, at, n, la, mask);
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
        put_sum(r, o, at, n, la, mask);
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
        put_sum(r, o, at, n, la, mask);
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
    case FLO:
        /* x: 1 signed, 2 the distance from the top. */
        A;
        EACH {
            u32 v = o->x & 1 && (i32)va[i] < 0 ? ~va[i] : va[i], k = v ? __builtin_clz(v) : 0;
            td[i] = v ? (o->x & 2 ? k : 31 - k) : ~0u;
        }
        EACH f[i] = td[i] != ~0u;
        put(r, o->d, at, n, td, mask);
        put_flag(r, o->q[0], at, n, f, mask);
        put_flag(r, o->q[1], at, n, f, mask);
        return;
    case BREV:
        A;
        EACH {
            u32 v = __builtin_bswap32(va[i]);
            v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
            v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
            d[i] = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
        }
        DONE;
        return;
    case POPC:
        A;
        EACH d[i] = __builtin_popcount(va[i]);
        DONE;
        return;
    case IABS:
        A;
        EACH d[i] = (i32)va[i] < 0 ? 0u - va[i] : va[i];
        DONE;
        return;
    }
}
