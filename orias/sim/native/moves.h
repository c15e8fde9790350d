/* Moves, choices, predicates, and what the threads of a warp do together. */
#pragma once
#include "rows.h"

/* Whether all live threads that an instruction waits for are at it, so that it does nothing: the threads of a range where
 * `lanes` (NULL: all) are set, `active` of them. */
static int met(const State *s, const Rows *r, const Op *o, i64 first, i64 stop, const u8 *lanes, i64 active) {
    if (o->code == BARSYNC) {
        i64 any = 0;
        for (i64 i = 0; i < s->arrivals; i++) any |= s->arrived[i];
        return !any && active == s->left;
    }
    for (i64 at = first; at < stop; at += 32) {
        const u8 *on = lanes ? lanes + (at - first) : 0;
        u32 here = on ? lanes_of(on) : ~0u, alive = s->alive[at >> 5], every = ~0u, any = 0, t[32];
        if (!here) continue;
        const u32 *v = o->code == BSYNC ? s->barriers + o->x * s->threads + at : source(s, r, o, 0, at, 32, t, 0);
        for (int k = 0; k < 32; k++) {
            every &= here >> k & 1 ? v[k] : ~0u;
            any |= here >> k & 1 ? v[k] : 0;
        }
        if (o->code == BSYNC ? every != any || (every & alive & ~here) : here != alive || (alive & ~every)) return 0;
    }
    return 1;
}

/* A move, a choice, an instruction on predicates or one of whole warps, for n threads from `at` on where `mask` (NULL: all) is set. */
static void step_moves(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    u32 ta[PIECE], tb[PIECE], tc[PIECE], td[PIECE];
    u64 la[PIECE];
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
    case SHFL:
        /* x: 0 a lane, 1 up, 2 down, 3 exclusive or.  A lane that takes no part gives 0. */
        A, B, C;
        for (i64 w = 0; w < n; w += 32) {
            u32 from[32];
            for (i32 k = 0; k < 32; k++) from[k] = !mask || mask[w + k] ? va[w + k] : 0;
            for (i32 k = 0; k < 32; k++) {
                i32 b = vb[w + k] & 31, c = vc[w + k], clamp = c & 31, segment = c >> 8 & 31, low = k & segment;
                i32 high = low | (clamp & ~segment);
                i32 j = o->x == 0 ? low | (b & ~segment) : o->x == 1 ? k - b : o->x == 2 ? k + b : k ^ b;
                f[w + k] = o->x == 1 ? j >= high : j <= high;
                td[w + k] = from[(f[w + k] ? j : k) & 31];
            }
        }
        put(r, o->d, at, n, td, mask);
        put_flag(r, o->q[0], at, n, f, mask);
        return;
    case VOTE: {
        /* x: 0 all, 1 any, 2 equal. */
        const u8 *p = predicate(s, r, o->p[0], at, n, pa);
        for (i64 w = 0; w < n; w += 32) {
            u32 here = mask ? lanes_of(mask + w) : ~0u, ballot = lanes_of(p + w) & here;
            u8 yes = o->x == 0 ? ballot == here : o->x == 1 ? ballot != 0 : ballot == 0 || ballot == here;
            for (i32 k = 0; k < 32; k++) td[w + k] = ballot, f[w + k] = yes;
        }
        put(r, o->d, at, n, td, mask);
        put_flag(r, o->q[0], at, n, f, mask);
        return;
    }
    case BSSY: {
        /* x: the barrier register. */
        u32 *b = s->barriers + o->x * s->threads + at;
        for (i64 w = 0; w < n; w += 32) {
            u32 here = mask ? lanes_of(mask + w) : ~0u;
            for (i32 k = 0; k < 32; k++) b[w + k] = here >> k & 1 ? here : b[w + k];
        }
        return;
    }
    case P2R:
        /* x: where the predicates go. */
        A, B;
        EACH tc[i] = 0;
        for (i32 k = 0; k < 7; k++) {
            const u8 *p = r->flags + k * r->width + at;
            EACH tc[i] |= (u32)p[i] << k;
        }
        EACH d[i] = (va[i] & ~(vb[i] << o->x)) | (tc[i] & vb[i]) << o->x;
        DONE;
        return;
    case R2P:
        /* x: which predicates; y: where they are. */
        A;
        for (i32 k = 0; k < 7; k++) {
            if (!(o->x >> k & 1)) continue;
            EACH f[i] = va[i] >> (k + o->y) & 1;
            put_flag(r, k, at, n, f, mask);
        }
        return;
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
