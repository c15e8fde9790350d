"""Register counts that change on the way: which R registers a warp has at each point of a kernel with setmaxnreg."""

from orias.isa.operand import PAYLOAD_SHIFT
from orias.ori.ir import Block, Func
from orias.passes.setmaxnreg import DEALLOC, ENTRY_REGS, TRY_ALLOC
from orias.regalloc.files import RESERVE
from orias.regalloc.ranges import Ranges


def region_counts(fn: Func, order: list[Block]) -> dict[int, int]:
    """Registers that a warp has for certain at the head of each block, by block id."""
    at: dict[int, int] = {order[0].id: fn.notes[ENTRY_REGS]}
    work = [order[0]]
    while work:
        b = work.pop()
        now = at[b.id]
        gained = now
        for inst in b.insts:
            if inst.op is DEALLOC:
                now = gained = inst.src[0] >> PAYLOAD_SHIFT
            elif inst.op is TRY_ALLOC:
                gained = inst.src[0] >> PAYLOAD_SHIFT
        for s in b.succs:
            # A failed attempt goes back to the head of its own block.
            count = now if s is b else gained
            if count < at.get(s.id, 1 << 16):
                at[s.id] = count
                work.append(s)
    return at


def missing_registers(rg: Ranges) -> list[tuple[int, int, int]]:
    """(first point, end point, mask) of R registers that the warp does not have there; empty without setmaxnreg."""
    fn = rg.fn
    if ENTRY_REGS not in fn.notes:
        return []
    at = region_counts(fn, rg.order)
    out: list[tuple[int, int, int]] = []
    for b in rg.order:
        count = at[b.id]
        start = rg.block_start[b.id]
        for point in range(start, rg.block_end[b.id]):
            inst = rg.insts[point]
            if inst is not None and inst.op is DEALLOC:
                out.append((start, point, _above(count)))
                start = point
                count = inst.src[0] >> PAYLOAD_SHIFT
        out.append((start, rg.block_end[b.id], _above(count)))
    return out


def _above(count: int) -> int:
    return (1 << 256) - (1 << max(count - RESERVE, 0))
