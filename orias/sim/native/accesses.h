/* Loads and stores. */
#pragma once
#include "floats.h"

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

/* Where a store by all threads goes whose addresses follow on each other in one allocation of global memory; NULL: they do not. */
static u8 *row(const State *s, const Rows *r, const Op *o, i64 at, i64 n) {
    u32 size = o->x & 255;
    const u32 *v = r->rows + (i64)o->value[0] * r->width + at, *w = v + r->width;
    u32 low = v[0], high = w[0], other = 0;
    EACH other |= (v[i] - low - size * (u32)i) | (w[i] ^ high);
    if (other || low + size * n > (u64)1 << 32) return 0;
    i64 from = (i64)(((u64)high << 32 | low) + (u64)(i64)o->z - s->arena_base);
    i64 k = from < 0 || from & (size - 1) ? -1 : allocation(s, from);
    return k < 0 || from + size * n > s->ends[k] ? 0 : s->arena + from;
}

/* A store by all threads to rows of global memory; 0 if it is none, and nothing was stored. */
static int store_rows(State *s, const Rows *r, const Op *o, i64 first, i64 stop) {
    i64 size = o->x & 255, pieces = 0;
    if ((o->y & 15) != GLOBAL || o->kind[0] != REGISTER || o->flag[0] || o->kind[1] != IMMEDIATE || o->value[1] | o->high[1] || size > 8) return 0;
    for (i64 at = first; at < stop; at += PIECE, pieces++) {
        u8 *to = row(s, r, o, at, stop - at < PIECE ? stop - at : PIECE);
        if (!to) return 0;
        s->address[pieces] = (u64)to;
    }
    pieces = 0;
    for (i64 at = first; at < stop; at += PIECE, pieces++) {
        i64 n = stop - at < PIECE ? stop - at : PIECE;
        u32 ta[PIECE], tb[PIECE];
        const u32 *v = source(s, r, o, 2, at, n, ta, 0);
        u8 *to = (u8 *)s->address[pieces];
        if (size == 1) EACH to[i] = v[i];
        else if (size == 2) EACH ((u16 *)to)[i] = v[i];
        else if (size == 4) memcpy(to, v, 4 * n);
        else {
            const u32 *w = source(s, r, o, 2, at, n, tb, o->kind[2] == REGISTER);
            EACH ((u64 *)to)[i] = (u64)w[i] << 32 | v[i];
        }
    }
    return 1;
}

/* What an atomic leaves in memory; `how` as in the Op. */
static u64 updated(u64 old, u64 v, u64 next, i32 how, i64 size) {
    int sign = how & 16;
    i64 p = size == 4 ? (i32)old : (i64)old, q = size == 4 ? (i32)v : (i64)v;
    switch (how & 15) {
    case 0:
        if (!(how & 32)) return old + v;
        if (size == 8) return canonical64(as_double(old) + as_double(v));
        if (how & 64) return flushed(canonical(as_float(flushed(old)) + as_float(flushed(v))));
        return canonical(as_float(old) + as_float(v));
    case 1: return sign ? (p < q ? old : v) : old < v ? old : v;
    case 2: return sign ? (p > q ? old : v) : old > v ? old : v;
    case 3: return old & v;
    case 4: return old | v;
    case 5: return old ^ v;
    case 6: return v;
    case 7: return old >= v ? 0 : old + 1;
    case 8: return old == 0 || old > v ? v : old - 1;
    default: return old == v ? next : old;
    }
}

/* Atomics of n threads in their order.  p[0] of the Op: what is done, 16 signed, 32 on floats, 64 flushed; p[1]: the register of the
 * new value of a compare-and-swap, -1 for 0. */
static void atom(State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *on, const u64 *a) {
    i64 size = o->x & 255;
    u64 v[PIECE];
    u32 t[PIECE];
    if (size == 8) source64(s, r, o, 2, at, n, v);
    else {
        const u32 *w = source(s, r, o, 2, at, n, t, 0);
        EACH v[i] = w[i];
    }
    const u32 *low = o->p[1] < 0 ? 0 : r->rows + (i64)o->p[1] * r->width + at, *high = low ? low + r->width : 0;
    u32 *d = o->d < 0 ? 0 : r->rows + (i64)o->d * r->width + at;
    for (i64 i = 0; i < n; i++) {
        if (on && !on[i]) continue;
        u64 next = (o->p[0] & 15) != 9 || !low ? 0 : size == 8 ? (u64)high[i] << 32 | low[i] : low[i], old;
        if (size == 8) {
            old = AT(u64, a[i]);
            *(u64 *)a[i] = updated(old, v[i], next, o->p[0], 8);
            if (d) d[i] = (u32)old, d[r->width + i] = old >> 32;
        } else {
            old = AT(u32, a[i]);
            *(u32 *)a[i] = (u32)updated(old, v[i], next, o->p[0], 4);
            if (d) d[i] = (u32)old;
        }
    }
    s->polled = 1;
}

/* An access of the threads from `first` up to `stop` with a mask (NULL: all), by pieces of `unit` threads; 0 if it was left undone. */
static int reach(State *s, const Rows *r, const Op *o, i64 first, i64 stop, const u8 *mask, i64 unit) {
    int apart = o->code == LOAD && o->x & 512;
    if (o->code == STORE && !mask && store_rows(s, r, o, first, stop)) return 1;
    for (i64 at = first; at < stop; at += unit) {
        i64 n = stop - at < unit ? stop - at : unit;
        const u8 *on = mask ? mask + (at - first) : 0;
        if (on && none(on, n)) continue;
        u64 *a = apart ? s->address : s->address + (at - first);
        Span span = {INT64_MAX, INT64_MIN, 0};
        if (!offsets(s, r, o, at, n, on, a, &span)) return 0;
        if (span.low == INT64_MAX) continue;
        if (!addresses(s, o, at, n, on, a, &span)) return 0;
        if (apart) load(r, o, at, at + n, on, a);
    }
    if (apart) return 1;
    for (i64 at = first; at < stop; at += unit) {
        i64 n = stop - at < unit ? stop - at : unit;
        const u8 *on = mask ? mask + (at - first) : 0;
        const u64 *a = s->address + (at - first);
        if (on && none(on, n)) continue;
        if (o->code == LOAD) load(r, o, at, at + n, on, a);
        else if (o->code == STORE) store(s, r, o, at, n, on, a);
        else atom(s, r, o, at, n, on, a);
    }
    return 1;
}
