"""Addresses: the width of their offset field, which folding may fill and the legaliser must keep to, and what only they read."""

from orias.isa.op import F_FOLDS
from orias.isa.operand import K_NONE, K_R, PT, has_lane, has_modifiers, in_file, is_vreg, vreg
from orias.ori.ir import Func, Inst
from orias.passes.def_use import Values


def offset_fits(inst: Inst, group: int, offset: int) -> bool:
    """True if the address group that starts at source `group` can hold the byte offset."""
    op = inst.op
    limit = 1 << (op.offset_bits[op.addr.index(group)] - 1)
    return -limit <= offset < limit


def only_bases(fn: Func, values: Values) -> list[tuple[Inst, list[tuple[Inst, int]]]]:
    """What computes registers that are read as bases of addresses and nowhere else: the instruction, and its readers with the group each."""
    sites: dict[int, list[tuple[Inst, int]]] = {}
    for inst in fn.insts():
        for a in inst.op.addr if inst.op.flags & F_FOLDS else ():
            base = inst.src[a + 1]
            if is_vreg(base) and in_file(base, K_R) and not has_modifiers(base) and not has_lane(base):
                sites.setdefault(vreg(base), []).append((inst, a))
    found = []
    for v, readers in sites.items():
        d = values.defs[v]
        if d is not None and values.uses[v] == len(readers) and len(d.dst) == 1 and d.guard == PT and d.old == K_NONE:
            found.append((d, readers))
    return found
