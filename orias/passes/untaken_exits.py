"""OriLoopUnrolling: ways out of a loop that none of its iterations takes are removed.

A loop over a tuple whose elements differ in type, as numba makes it, has a switch over its counter that leaves the loop for every
other number.  Where the counter has known values no iteration does, and the loop ends in one place, as unrolling wants it.
"""

from orias.analysis.cfg import LoopForest, remove_unreachable
from orias.ori.ir import Func
from orias.passes.branches import drop_edge
from orias.passes.known_iterations import known_iterations
from orias.passes.loop_bodies import find_bodies


def drop_untaken_exits(fn: Func, forest: LoopForest) -> bool:
    """Let innermost loops with a known number of iterations end at the last block alone, if they do; True if an edge went."""
    changed = False
    for body in find_bodies(fn, forest, exits=True):
        inside = {b.id for b in body.blocks}
        out = [(b, s) for b in body.blocks[:-1] for s in b.succs if s.id not in inside]
        runs = known_iterations(body, fn.knobs.unroll_full_iterations) if out else []
        if not runs or not all(inside.issuperset(reached) for reached in runs):
            continue
        for b, s in out:
            b.insts.pop()
            drop_edge(b, b.succs.index(s))
        changed = True
    if changed:
        remove_unreachable(fn)
    return changed
