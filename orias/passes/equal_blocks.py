"""Chains of blocks that run one after the other, each as often as the one before: control-equivalent blocks.

Code without effects may go from one to another, and loads too, for nothing between them may write memory.
"""

from typing import Final, final

from orias.analysis.cfg import dominators, post_dominators
from orias.isa.op import F_CALL, F_FENCE, F_LEAVES, F_PINNED, F_PSEUDO, F_SIDE, F_TERM, F_WRITE
from orias.ori.ir import Block, Func, Inst


@final
class Follower:
    """A block of a chain; ``between``: the blocks between it and the one before."""

    __slots__ = ("between", "block")

    def __init__(self, block: Block, between: list[Block]) -> None:
        self.block: Final[Block] = block
        self.between: Final[list[Block]] = between


def chains(fn: Func, distance: int) -> list[list[Follower]]:
    """The chains of a function, with at most `distance` instructions between two blocks; a block alone is one too."""
    after: dict[int, Follower] = {}
    if len(fn.blocks) > 1:
        dom, pdom = dominators(fn), post_dominators(fn)
        by_id = {b.id: b for b in fn.blocks}
        for b in fn.blocks:
            p = by_id.get(pdom.idom[b.id])
            if p is not None and dom.idom[p.id] == b.id:
                between = _between(fn, b, p, distance)
                if between is not None:
                    after[b.id] = Follower(p, between)
    later = {f.block.id for f in after.values()}
    out: list[list[Follower]] = []
    for b in fn.blocks:
        if b.id not in later:
            chain = [Follower(b, [])]
            while chain[-1].block.id in after:
                chain.append(after[chain[-1].block.id])
            out.append(chain)
    return out


def _between(fn: Func, b: Block, end: Block, distance: int) -> list[Block] | None:
    """The blocks on the ways from `b` to `end`; None if they are long, if they may write memory, or if a loop has one of the two."""
    seen = {b.id}
    work = [s for s in b.succs if s is not end]
    found: list[Block] = []
    count = 0
    while work:
        x = work.pop()
        if x is b:
            return None
        if x.id in seen:
            continue
        seen.add(x.id)
        found.append(x)
        count += max(1, len(x.insts))
        if count > distance or any(keeps_loads(fn, i) for i in x.insts):
            return None
        work.extend(s for s in x.succs if s is not end)
    return found if all(p.id in seen for p in end.preds) else None


def keeps_loads(fn: Func, inst: Inst) -> bool:
    """True for what no load moves across: writes, fences, traps, exits, clocks; branches and helper subroutines are none of these.

    A trap or an exit under a guard may stand for the check of an index, without which the load has an address that it may not have.
    """
    flags = inst.op.flags
    if flags & F_CALL and inst.uid in fn.calls and fn.calls[inst.uid].kind == "helper":
        return False
    return flags & (F_WRITE | F_FENCE | F_CALL | F_LEAVES) != 0 or (
        flags & (F_SIDE | F_PINNED) != 0 and not flags & (F_TERM | F_PSEUDO)
    )
