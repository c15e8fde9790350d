"""FENCE.VIEW.ASYNC.S between accesses of shared memory and a later mbarrier.init.

SYNCS operations do not wait for earlier accesses of another kind to the same bytes.  ptxas 13.0.88 (sm_90 to sm_121) has the
fence before the SYNCS.EXCH of an mbarrier.init that a load, store or atomic of shared or generic memory may precede, on any
path and whatever barriers are between them, but none between two of them.  (It also has one after every loop.)
"""

from typing import Final

from orias.isa.op import F_CALL, F_READ, F_WRITE, SHARED, op
from orias.isa.operand import PT
from orias.ori.ir import Block, Func, Inst

_FENCE: Final = op("FENCE.VIEW.ASYNC.S")
_INIT: Final = "SYNCS.EXCH.64"


def put_view_fences(fn: Func) -> None:
    """Put the fences of a function where it needs them."""
    if not any(inst.op.name == _INIT for inst in fn.insts()):
        return
    # A caller may have accessed anything.
    before = {b.id: b is fn.blocks[0] and fn.kind != "entry" for b in fn.blocks}
    todo = list(fn.blocks)
    while todo:
        b = todo.pop()
        if not _after(b, before[b.id]):
            continue
        for s in b.succs:
            if not before[s.id]:
                before[s.id] = True
                todo.append(s)
    for b in fn.blocks:
        out: list[Inst] = []
        accessed = before[b.id]
        for inst in b.insts:
            if accessed and inst.op.name == _INIT:
                out.append(fn.new_inst(_FENCE, [], [], PT, loc=inst.loc))
            accessed = _next(inst, accessed)
            out.append(inst)
        b.insts = out


def _after(b: Block, accessed: bool) -> bool:
    """Whether an access may not be fenced at the end of a block."""
    for inst in b.insts:
        accessed = _next(inst, accessed)
    return accessed


def _next(inst: Inst, accessed: bool) -> bool:
    if inst.op.name == _INIT or inst.op is _FENCE:
        return False
    if inst.op.flags & F_CALL:
        return True
    other = inst.op.base != "SYNCS" and inst.op.flags & (F_READ | F_WRITE) != 0
    return accessed or (other and inst.op.space & SHARED != 0)
