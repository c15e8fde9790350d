"""Register counts that change inside a kernel with setmaxnreg: the R registers that a warp has at each point."""

from orias.isa.operand import imm_value
from orias.ori.ir import Block, Func
from orias.passes.setmaxnreg import DEALLOC, TRY_ALLOC
from orias.regalloc.ranges import Ranges
from orias.target.register_steps import SYSTEM_REGISTERS


def region_counts(fn: Func, order: list[Block]) -> dict[int, int]:
    """Number of registers that a warp certainly has at the head of each block, by block id."""
    at: dict[int, int] = {order[0].id: fn.entry_regs}
    work = [order[0]]
    while work:
        b = work.pop()
        now = at[b.id]
        gained = now
        for inst in b.insts:
            if inst.op is DEALLOC:
                now = gained = imm_value(inst.src[0])
            elif inst.op is TRY_ALLOC:
                gained = imm_value(inst.src[0])
        for s in b.succs:
            # A failed attempt branches back to the head of its own block.
            count = now if s is b else gained
            if count < at.get(s.id, 1 << 16):
                at[s.id] = count
                work.append(s)
    return at


def missing_registers(rg: Ranges) -> list[tuple[int, int, int]]:
    """(first point, end point, mask) of R registers that the warp lacks there; empty without setmaxnreg."""
    fn = rg.fn
    if not fn.entry_regs:
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
                count = imm_value(inst.src[0])
        out.append((start, rg.block_end[b.id], _above(count)))
    return out


def _above(count: int) -> int:
    return (1 << 256) - (1 << max(count - SYSTEM_REGISTERS, 0))
