/* Executes runs of common instructions on the rows of registers of a batch, with the results of the numpy builders.
 *
 * An instruction is an Op (orias/sim/native/translate.py makes it).  Instructions that cannot fail work on pieces of PIECE
 * threads, so that what several of them touch stays in the first cache; an access to memory is checked for all threads first,
 * and then done.  A run stops before the first instruction that is not known here, or whose access needs a closer look. */
#include "accesses.h"
#include "steps.h"

/* Whether pieces of threads may run an instruction each for itself. */
static int in_pieces(const Op *o, int fused) {
    return o->code >= FIRST_MOVE && (o->code < FIRST_ACCESS || (fused && o->code == LOAD && !o->closely));
}

/* How many threads of a range have a guard. */
static i64 guarded(const State *s, const Rows *r, i32 guard, i64 first, i64 stop, const u8 *lanes) {
    i64 taken = 0;
    for (i64 at = first; at < stop; at += PIECE) {
        i64 n = stop - at < PIECE ? stop - at : PIECE;
        u8 t[PIECE];
        const u8 *p = predicate(s, r, guard, at, n, t);
        if (lanes) EACH taken += p[i] & lanes[at - first + i];
        else taken += count(p, n);
    }
    return taken;
}

/* Threads that a piece has: few where most warps of a range take no part. */
static i64 unit_of(const u8 *lanes, i64 active, i64 span) {
    if (!lanes || active > span >> 2) return PIECE;
    i64 warps = 0;
    for (i64 at = 0; at < span; at += 32) warps += !none(lanes + at, 32);
    return warps > span >> 7 ? PIECE : 32;
}

/* Runs instructions from `pc` on for the threads from `first` up to `stop` (multiples of 32) where `lanes` (NULL: all) are set, `active` of them.
 * Stops at instruction `end`, after `most` steps, or where this file goes no further; returns the next instruction.
 * `jumps`: 1: branches that all threads take, or none, are followed; 2: loads are done piece by piece, as nothing is stored between
 * them.  Where the load of a piece is left undone, those before may be further on: `places` has the next instruction of each piece. */
__attribute__((visibility("default"))) i64 orias_run(State *s, Op *ops, i64 pc, i64 end, i64 last, i64 first, i64 stop, const u8 *lanes,
                                                     i64 active, i64 most, i64 jumps) {
    static u8 guard[1 << 20];
    const i64 span = stop - first;
    const Rows threads = {s->registers, s->predicates, s->threads}, warps = {s->uniform, s->uniform_predicates, s->warps};
    const int fused = jumps & 2;
    i64 done = 0, instructions = 0, unit = unit_of(lanes, active, span);
    s->pieces = s->polled = 0;
    s->unit = unit;
    if (span > (i64)sizeof guard) return pc;
    while (done < most && pc != end && pc >= 0 && pc < last) {
        const Op *o = ops + pc;
        if (o->code == NONE) break;
        if (o->code < FIRST_MOVE) {
            i64 taken = o->guard < 0 ? active : guarded(s, &threads, o->guard, first, stop, lanes);
            if (taken && taken != active) break;
            if (taken && (o->code == BRA ? !(jumps & 1) : !fused || !met(s, &threads, o, first, stop, lanes, active))) break;
            done++;
            instructions += taken;
            pc = taken && o->code == BRA ? o->x : pc + 1;
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
                if (o->code != LOAD && (o->y & 15) != SHARED && (o->y & 15) != LOCAL && !s->may_store) break;
                if (!reach(s, &threads, o, first, stop, mask, unit)) break;
            }
            done++;
            instructions += here;
            pc++;
            continue;
        }
        i64 to = pc, pieces = 0;
        while (to != end && to < last && to - pc < most - done && in_pieces(ops + to, fused)) to++;
        for (i64 at = first; at < stop; at += unit, pieces++) {
            i64 n = stop - at < unit ? stop - at : unit;
            const u8 *on = lanes ? lanes + (at - first) : 0;
            i64 here = !on ? n : none(on, n) ? 0 : count(on, n);
            if (here == n) on = 0;
            for (i64 k = pc; here && k < to; k++) {
                Op *p = ops + k;
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
                } else if (p->uniform) step_uniform(s, &warps, p, at, n, mask);
                else step(s, &threads, p, at, n, mask);
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
