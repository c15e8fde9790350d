"""Register allocation of warpgroup matrix operations.

Accumulators are lists of one-word registers in D and C.  D and C are the same registers (tied by a parallel copy in front that
coalescing should make vanish), and they are neighbours.
"""

from orias.isa.operand import Opnd
from orias.isa.warpgroup import GMMA, c_count, c_start, is_list
from orias.ori.ir import Func, Inst
from orias.regalloc.ssa_out import OP_PCOPY


def tie_accumulators(fn: Func) -> None:
    """Make every operation read and write the same registers; the old values are copied there in front (state ``virtual``)."""
    for b in fn.blocks:
        if not any(i.op.base in GMMA for i in b.insts):
            continue
        out: list[Inst] = []
        for inst in b.insts:
            if inst.op.base in GMMA and is_list(inst.dst):
                count = c_count(inst.dst, inst.src)
                if count > 1:
                    at = c_start(inst.src)
                    old = inst.src[at : at + count]
                    out.append(fn.new_inst(OP_PCOPY, list(inst.dst), old, loc=inst.loc))
                    inst.src[at : at + count] = inst.dst
            out.append(inst)
        b.insts = out


def neighbours(inst: Inst) -> list[tuple[Opnd, int]]:
    """The results of an operation behind the first, with their places in its vector."""
    if inst.op.base in GMMA and is_list(inst.dst):
        return [(d, k) for k, d in enumerate(inst.dst) if k]
    return []


def ties_accumulator(copy: Inst, behind: Inst | None) -> bool:
    """True for the parallel copy of old values that stands in front of an operation."""
    return copy.op is OP_PCOPY and behind is not None and is_list(behind.dst) and behind.dst == copy.dst
