/* One instruction of any kind. */
#pragma once
#include "floats.h"
#include "halves.h"
#include "integers.h"
#include "moves.h"

/* An instruction for n threads from `at` on where `mask` (NULL: all) is set. */
static void step(const State *s, const Rows *r, const Op *o, i64 at, i64 n, const u8 *mask) {
    if (o->code < FIRST_INTEGER) step_moves(s, r, o, at, n, mask);
    else if (o->code < FIRST_FLOAT) step_integers(s, r, o, at, n, mask);
    else if (o->code < FIRST_HALF) step_floats(s, r, o, at, n, mask);
    else step_halves(s, r, o, at, n, mask);
}

/* An instruction on uniform registers, of the warps of n threads from `at` on where `mask` (NULL: all) is set. */
static void step_uniform(const State *s, const Rows *warps, const Op *o, i64 at, i64 n, const u8 *mask) {
    u8 some[PIECE / 32];
    if (mask)
        for (i64 w = 0; w < n >> 5; w++) some[w] = !none(mask + 32 * w, 32);
    step(s, warps, o, at >> 5, n >> 5, mask && count(some, n >> 5) < n >> 5 ? some : 0);
}
