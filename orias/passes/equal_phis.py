"""A phi whose sources are the same computation becomes that computation.

Where all paths compute the same from the same values, the result need not live from there to the phi.
"""

from orias.analysis.liveness import def_mask, reg_bit
from orias.isa.op import F_PSEUDO
from orias.isa.operand import K_NONE, K_R, PT, Opnd, has_flags, has_lane, in_file, is_vreg, vreg
from orias.ori.ir import OP_PHI, Func, Inst
from orias.passes.def_use import Values
from orias.passes.remat import pure


def compute_after_phis(fn: Func) -> bool:
    """Replace phis whose sources are the same computation by that computation; True if any was."""
    values = Values(fn, counted=False)
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
    if not in_file(phi.dst[0], K_R) or len(set(phi.src)) < 2:
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
    if not in_file(s, K_R) or has_flags(s) or has_lane(s) or not is_vreg(s):
        return None
    d = values.defs[vreg(s)]
    return d if d is not None and d.guard == PT and d.old == K_NONE else None
