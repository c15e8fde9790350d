"""Which loops end each iteration in one place, where the threads that stay meet (for the insertion of convergence barriers).

A loop whose exit stands on one side of a divergent branch has its post-dominator there, so the threads of the other side would go round
the loop until all of them come to the exit, one part of the warp after the other::

    h: if (full) { push; continue; }         threads that push wait for nobody,
       pop; if (empty) break;                those that pop wait for all others

With one block before the back edge, threads meet there once an iteration, and those that leave the loop give the barrier up.  Where the
way round one back edge is a loop of its own, with one way out of it to the rest, its iterations go on as before: it is an inner loop
that shares its header.  So does ptxas (``docs/facts/control-flow.md``).
"""

from orias.analysis.cfg import DomTree, Loop, LoopForest, onward, post_dominators
from orias.analysis.collectives import WARPSYNC
from orias.analysis.divergence import Divergence, exit_edges
from orias.isa.op import F_BARRIER, F_CALL, F_CONVERGENT
from orias.ori.ir import Block, Func
from orias.passes.waiting_loops import waiting_accesses


def met_loops(fn: Func, tree: DomTree, forest: LoopForest, div: Divergence) -> list[Loop]:
    """Loops with a divergent branch whose threads would go round the loop before they meet in it again.

    None has several loops with one header, collectives, barriers, calls, or accesses that wait for other threads.
    """
    if forest.irreducible or not any(div.branches[b.id] and forest.innermost[b.id] is not None for b in fn.blocks):
        return []
    by_id = {b.id: b for b in fn.blocks}
    cut = exit_edges(fn)
    pdom = post_dominators(fn, cut)
    out: list[Loop] = []
    for b in fn.blocks:
        loop = forest.innermost[b.id]
        if loop is None or not div.branches[b.id] or loop in out or pdom.idom[b.id] not in loop.blocks:
            continue
        end = pdom.idom[b.id]
        if b.id != end and goes_round(b, end, loop, cut) and not _shares_header(loop, by_id):
            out.append(loop)
    if out and any(_gathers(by_id[x]) for loop in out for x in loop.blocks):
        out = [loop for loop in out if not any(_gathers(by_id[x]) for x in loop.blocks)]
    waiting = {b.id for b, _ in waiting_accesses(fn, tree, forest, div)} if out else set()
    return [loop for loop in out if waiting.isdisjoint(loop.blocks)]


def goes_round(b: Block, end: int, loop: Loop, cut: frozenset[tuple[int, int]]) -> bool:
    """True if threads may pass a back edge of the loop between a branch and the block (id) where they meet again."""
    between = onward([s for s in b.succs if (b.id, s.id) not in cut], (end,), cut)
    return any(latch.id in between for latch in loop.latches) and end != loop.header.id


def _gathers(b: Block) -> bool:
    return any(i.op.flags & (F_CALL | F_CONVERGENT | F_BARRIER) or i.op.base == WARPSYNC.base for i in b.insts)


def _shares_header(loop: Loop, by_id: dict[int, Block]) -> bool:
    """True if the way round one of several back edges has a single way out, which stays in the loop."""
    if len(loop.latches) == 1:
        return False
    inside = set(loop.blocks)
    header = loop.header.id
    for latch in loop.latches:
        way = _backward(latch, header)
        ways_out = {s.id for x in way for s in by_id[x].succs if s.id not in way}
        if len(ways_out) == 1 and ways_out <= inside:
            return True
    return False


def _backward(latch: Block, header: int) -> set[int]:
    """Ids of the blocks on the paths from the header of a loop to one of its latches, both included."""
    seen = {header}
    work = [latch]
    while work:
        b = work.pop()
        if b.id not in seen:
            seen.add(b.id)
            work.extend(b.preds)
    return seen
