"""OriDoRemat: a shifted value, or one plus a constant of a bank, that is only an addend of sums goes into each of them.

A multiple of a stride and a stride plus a parameter are computed once before a loop, and held through it, for sums in it.  LEA and the
third source of IADD3 add the same in one instruction, from the value itself, which lives no longer than what it replaces did.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import K_R, PT, RZ, Opnd, has_flags, has_lane, imm, in_file, is_const, is_imm, is_vreg, vreg
from orias.ori.ir import OP_COPY, Func, Inst
from orias.passes.rules_int import shift_left_of

_IADD3: Final = op("IADD3")
_LEA: Final = op("LEA")
_LEAST: Final = 2
"""Sums that make it worth a look: what goes into a single one is there already."""


def share_addends(fn: Func) -> bool:
    """Put shifted values, and values plus a constant of a bank, into the sums that they are for; True if any were.

    What nothing reads any more stays for the removal of dead code.
    """
    defs: dict[int, Inst] = {}
    users: dict[int, list[Inst]] = {}
    for b in fn.blocks:
        for inst in b.insts:
            for d in inst.dst:
                if is_vreg(d):
                    defs[vreg(d)] = inst
            for s in inst.uses():
                if is_vreg(s):
                    users.setdefault(vreg(s), []).append(inst)
    changed = False
    for v, d in list(defs.items()):
        sums = users.get(v, [])
        if len(sums) < _LEAST or fn.vkind[v] != K_R or fn.vwidth[v] != 1 or d.guard != PT or len(d.dst) != 1:
            continue
        parts = _shifted(d, defs) or _with_constant(d, defs)
        others = [_other(inst, v, defs) for inst in sums] if parts is not None else [None]
        if parts is None or None in others:
            continue
        value, second = parts
        for inst, other in zip(sums, others, strict=True):
            assert other is not None
            if is_imm(second):
                inst.op, inst.src = _LEA, [value, other, second]
            else:
                inst.src = [value, second, other]
            for s in inst.src:
                if is_vreg(s):
                    users.setdefault(vreg(s), []).append(inst)
        users[v] = []
        changed = True
    return changed


def _shifted(d: Inst, defs: dict[int, Inst]) -> tuple[Opnd, Opnd] | None:
    """A value, and by how many bits it is shifted."""
    found = shift_left_of(d)
    return (found[0], imm(found[1])) if found is not None and _is_value(found[0], defs) else None


def _with_constant(d: Inst, defs: dict[int, Inst]) -> tuple[Opnd, Opnd] | None:
    """The addends of a sum of a value and a constant of a bank, which may be negated, in this order."""
    if d.op is not _IADD3 or d.src[2] != RZ or not all(is_vreg(s) and not has_lane(s) for s in d.src[:2]):
        return None
    a, c = d.src[:2]
    if _is_bank(defs.get(vreg(a))):
        a, c = c, a
    if not _is_bank(defs.get(vreg(c))) or has_flags(a) or not _is_value(a, defs):
        return None
    return a, c


def _is_bank(d: Inst | None) -> bool:
    """True for what reads a word of a constant bank, which is an operand of the sum in the end."""
    return d is not None and d.op is OP_COPY and is_const(d.src[0])


def _is_value(o: Opnd, defs: dict[int, Inst]) -> bool:
    """True for a register that is a source as it is, and that no constant stands for."""
    if not is_vreg(o) or not in_file(o, K_R) or has_lane(o) or has_flags(o):
        return False
    d = defs.get(vreg(o))
    return d is not None and not (d.op is OP_COPY and (is_imm(d.src[0]) or is_const(d.src[0])))


def _other(inst: Inst, v: int, defs: dict[int, Inst]) -> Opnd | None:
    """The other addend of a sum of two values one of which is register `v`; None for what is no such sum."""
    if inst.op is not _IADD3 or len(inst.dst) != 1 or len(inst.src) != 3 or inst.src[2] != RZ:
        return None
    a, b = inst.src[:2]
    if is_vreg(b) and vreg(b) == v:
        a, b = b, a
    if not is_vreg(a) or vreg(a) != v or has_flags(a) or not _is_value(b, defs) or vreg(b) == v:
        return None
    return b
