"""OriPropagateGmma: an accumulator of zeros needs no registers (C becomes RZ and the predicate !UPT, as ptxas 13.0.88 does)."""

from orias.isa.operand import K_IMM, K_UP, KIND_MASK, NOT_UPT, RZ, Opnd
from orias.isa.warpgroup import GMMA, c_count, c_start
from orias.ori.ir import OP_COPY, Func
from orias.passes.values import Values


def drop_zero_accumulators(fn: Func) -> None:
    """Make C RZ where every word of it is the constant 0 (a function in SSA)."""
    if not any(i.op.base in GMMA for b in fn.blocks for i in b.insts):
        return
    values = Values(fn)

    def zero(o: Opnd) -> bool:
        d = values.definition(o)
        return o in (K_IMM, RZ) or (d is not None and d.op is OP_COPY and d.src[0] in (K_IMM, RZ))

    for inst in fn.insts():
        if inst.op.base in GMMA:
            at = c_start(inst.src)
            count = c_count(inst.dst, inst.src)
            if count > 1 and all(zero(o) for o in inst.src[at : at + count]):
                more = 1 if at + count < len(inst.src) and inst.src[at + count] & KIND_MASK == K_UP else 0
                inst.src[at : at + count + more] = [RZ, NOT_UPT]
