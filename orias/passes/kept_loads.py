"""Volatile loads whose value nobody reads stay: lowering gives each a reader (``fence.KEEP``), which goes where there is another one."""

from orias.isa.operand import FIRST_VREG, PAYLOAD_SHIFT
from orias.ori.ir import OP_KEEP, Func


def drop_second_readers(fn: Func) -> None:
    """Remove the readers of loads that something else reads too, after dead code is gone."""
    if not any(inst.op is OP_KEEP for inst in fn.insts()):
        return
    read: set[int] = set()
    for inst in fn.insts():
        if inst.op is not OP_KEEP:
            read.update(s >> PAYLOAD_SHIFT for s in inst.uses() if s >= FIRST_VREG)
    for b in fn.blocks:
        b.insts = [i for i in b.insts if i.op is not OP_KEEP or i.src[0] >> PAYLOAD_SHIFT not in read]
