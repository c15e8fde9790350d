"""Phis of one computation written several times: it is done once, where the phi stands.

Where all paths compute the same from the same values, the result need not live from there to the phi.
"""

from orias.analysis.liveness import def_mask, reg_bit
from orias.isa.op import F_PSEUDO
from orias.isa.operand import FIRST_VIRTUAL, FLAG_MASK, K_NONE, K_R, KIND_MASK, LANE_MASK, PAYLOAD_SHIFT, PT, Opnd
from orias.ori.ir import OP_PHI, Func, Inst
from orias.passes.remat import pure
from orias.passes.values import Values


def compute_behind_phis(fn: Func) -> bool:
    """Replace phis whose sources are the same computation by that computation; True if any was."""
    values = Values(fn)
    changed = False
    for b in fn.blocks:
        phis = 0
        while phis < len(b.insts) and b.insts[phis].op is OP_PHI:
            phis += 1
        here = 0
        for inst in b.insts[:phis]:
            here |= def_mask(inst)
        kept: list[Inst] = []
        new: list[Inst] = []
        for phi in b.insts[:phis]:
            first = _same_computation(values, phi)
            if first is None or any(reg_bit(s) & here for s in first.src):
                kept.append(phi)
            else:
                new.append(fn.new_inst(first.op, list(phi.dst), list(first.src), loc=first.loc))
        if new:
            b.insts[:phis] = kept + new
            changed = True
    return changed


def _same_computation(values: Values, phi: Inst) -> Inst | None:
    """The first of the definitions of a phi's sources if all are the same pure operation on the same operands."""
    if phi.dst[0] & KIND_MASK != K_R or len(set(phi.src)) < 2:
        return None
    first: Inst | None = None
    for s in phi.src:
        d = _definition(values, s)
        if d is None or not pure(d) or d.op.flags & F_PSEUDO:
            return None
        if first is None:
            first = d
        elif d.op is not first.op or d.src != first.src:
            return None
    return first


def _definition(values: Values, s: Opnd) -> Inst | None:
    if s & KIND_MASK != K_R or s & (FLAG_MASK | LANE_MASK) or s >> PAYLOAD_SHIFT < FIRST_VIRTUAL:
        return None
    d = values.defs[s >> PAYLOAD_SHIFT]
    return d if d is not None and d.guard == PT and d.old == K_NONE else None
