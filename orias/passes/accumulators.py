"""OriPropagateGmma: accumulators of warpgroup operations that need no registers.

An accumulator of zeros, or one that is not kept, needs no registers (C becomes RZ and the predicate !UPT, as ptxas 13.0.88 has
it); a predicate known to hold is left out; operations of a block that ask for the same predicate share one vote.
"""

from orias.analysis.inflight import has_operations
from orias.isa.gmma_forms import c_count, c_start
from orias.isa.op import F_WGMMA
from orias.isa.operand import INV, K_IMM, K_UP, NOT_PT, NOT_UPT, PT, RZ, Opnd, in_file
from orias.ori.ir import OP_COPY, Func, Inst
from orias.passes.def_use import Values


def propagate_accumulators(fn: Func) -> bool:
    """Simplify C and the predicates of warpgroup operations (a function in SSA); True if it has any."""
    if not has_operations(fn):
        return False
    values = Values(fn)

    def zero(o: Opnd) -> bool:
        d = values.definition(o)
        return o in (K_IMM, RZ) or (d is not None and d.op is OP_COPY and d.guard == PT and d.src[0] in (K_IMM, RZ))

    for b in fn.blocks:
        votes: dict[Opnd, Opnd] = {}
        """Uniform predicate by the predicate that it was made of, in this block."""
        for inst in b.insts:
            if not inst.op.flags & F_WGMMA:
                continue
            at = c_start(inst.src)
            count = c_count(inst.dst, inst.src)
            k = at + count
            voted = k < len(inst.src) and in_file(inst.src[k], K_UP) and inst.src[k] != NOT_UPT
            if voted:
                p = _asked(values, inst.src[k])
                if p == NOT_PT:
                    inst.src[at : k + 1] = [RZ, NOT_UPT]
                    continue
                if p == PT:
                    del inst.src[k]
                    voted = False
                elif p is not None:
                    inst.src[k] = votes.setdefault(p, inst.src[k])
            if count > 1 and all(zero(o) for o in inst.src[at:k]):
                inst.src[at : k + (1 if voted else 0)] = [RZ, NOT_UPT]
    return True


def _asked(values: Values, up: Opnd) -> Opnd | None:
    """The thread predicate of a vote, constants resolved; None if it is none."""
    d: Inst | None = values.definition(up)
    if d is None or d.op.name != "VOTEU.ANY":
        return None
    p = d.src[0]
    made = values.definition(p)
    if made is not None and made.op is OP_COPY and made.guard == PT and made.src[0] & ~INV == PT:
        return made.src[0] ^ (p & INV)
    return p
