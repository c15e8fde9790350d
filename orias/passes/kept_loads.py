"""Volatile loads whose value nobody reads stay: lowering gives each a reader (``fence.KEEP``), which goes where there is another one."""

from orias.isa.operand import is_vreg, payload
from orias.ori.ir import OP_KEEP, Func


def drop_second_readers(fn: Func) -> None:
    """Remove the readers of loads that something else reads too, after dead code is gone."""
    if not any(inst.op is OP_KEEP for inst in fn.insts()):
        return
    read: set[int] = set()
    for inst in fn.insts():
        if inst.op is not OP_KEEP:
            read.update(payload(s) for s in inst.uses() if is_vreg(s))
    for b in fn.blocks:
        b.insts = [i for i in b.insts if i.op is not OP_KEEP or payload(i.src[0]) not in read]
