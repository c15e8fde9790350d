"""OriLoopUnrolling, part of partial unrolling: iterations with branches load together, before the branches of the first.

An iteration that runs in any case may load what it needs as soon as the address is known, unless memory may change before.  Within a
block the scheduler sees to that; here the iterations are several blocks.
"""

from typing import Final

from orias.isa.op import F_CALL, F_CONVERGENT, F_FENCE, F_PINNED, F_READ, F_SIDE, F_SPECIAL, F_TERM, F_WRITE
from orias.isa.operand import PT, is_physical, is_vreg, vreg
from orias.ori.ir import OP_PHI, Block, Inst
from orias.passes.access_size import is_load
from orias.passes.simplify import portable

_CHANGES: Final = F_WRITE | F_FENCE | F_CALL
_STAYS: Final = _CHANGES | F_CONVERGENT | F_PINNED | F_SIDE | F_SPECIAL | F_TERM


def load_ahead(blocks: list[Block], always: list[Block], most: int) -> None:
    """Move loads, and what their addresses need, from the blocks of `always` to the end of the first of them.

    `blocks`: several iterations of a loop; `always`: those of its blocks that run whenever the first does, in order.
    `most`: loads that move at most.
    """
    if any(i.op.flags & _CHANGES for b in blocks for i in b.insts):
        return
    first = always[0]
    late = {vreg(d) for b in blocks for i in b.insts for d in i.dst if is_vreg(d)}
    late.difference_update(vreg(d) for i in first.insts for d in i.dst if is_vreg(d))
    moves: dict[int, Inst] = {}
    makers: dict[int, Inst] = {}
    for b in always[1:]:
        for inst in b.insts:
            if not _may_move(inst, late):
                continue
            for d in inst.dst:
                if is_vreg(d):
                    late.discard(vreg(d))
                    makers[vreg(d)] = inst
            if is_load(inst) and most > 0:
                most -= 1
                _need(inst, makers, moves)
    if not moves:
        return
    at = len(first.insts) - (first.terminator() is not None)
    ordered = [i for b in always[1:] for i in b.insts if i.uid in moves]
    first.insts[at:at] = ordered
    for b in always[1:]:
        b.insts = [i for i in b.insts if i.uid not in moves]


def _may_move(inst: Inst, late: set[int]) -> bool:
    """True for a computation or a plain load of what is known in the first block."""
    if inst.op is OP_PHI or inst.op.flags & _STAYS or inst.guard != PT or not portable(inst):
        return False
    if inst.op.flags & F_READ and not is_load(inst):
        return False
    return not any(is_physical(d) for d in inst.dst) and not any(is_vreg(s) and vreg(s) in late for s in inst.uses())


def _need(inst: Inst, makers: dict[int, Inst], moves: dict[int, Inst]) -> None:
    """Add an instruction to what moves, and before it what it reads."""
    work = [inst]
    while work:
        i = work.pop()
        if i.uid not in moves:
            moves[i.uid] = i
            work.extend(makers[vreg(s)] for s in i.uses() if is_vreg(s) and vreg(s) in makers)
