"""LateArchOptimizeFirst: a shifted value, or one plus a constant of a bank, that is only an addend of sums goes into each of them.

A multiple of a stride and a stride plus a parameter are computed once before a loop, and held through it, for sums in it.  LEA and the
third source of IADD3 add the same in one instruction, from the value itself, which lives no longer than what it replaces did.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    RZ,
    Opnd,
    has_flags,
    has_lane,
    imm,
    in_file,
    is_const,
    is_imm,
    is_vreg,
    vreg,
)
from orias.ori.ir import OP_COPY, Func, Inst
from orias.passes.def_use import Values
from orias.passes.rules_int import shift_left_of

_IADD3: Final = op("IADD3")
_LEA: Final = op("LEA")


def share_addends(fn: Func) -> bool:
    """Put shifted values, and values plus a constant of a bank, into the sums that they are for; True if any were.

    What goes into a single sum is there already.  What nothing reads any more stays for the removal of dead code.
    """
    values = Values(fn)
    parts: dict[int, tuple[Opnd, Opnd]] = {}
    """For each register that is such an addend its value, and the bits by which that is shifted or the constant that is added."""
    for b in fn.blocks:
        for d in b.insts:
            if d.guard == PT and len(d.dst) == 1 and is_vreg(d.dst[0]) and values.uses[vreg(d.dst[0])] > 1:
                found = _shifted(d, values) or _with_constant(d, values)
                if found is not None:
                    parts[vreg(d.dst[0])] = found
    sums: dict[int, list[Inst]] = {v: [] for v in parts}
    for b in fn.blocks if parts else []:
        for inst in b.insts:
            for s in inst.uses():
                if is_vreg(s) and vreg(s) in parts:
                    sums[vreg(s)].append(inst)
    changed = False
    for v, (value, second) in parts.items():
        others = [_other(inst, v, values) for inst in sums[v]]
        if K_NONE in others:
            continue
        for inst, other in zip(sums[v], others, strict=True):
            if is_imm(second):
                inst.op, inst.src = _LEA, [value, other, second]
            else:
                inst.src = [value, second, other]
            for s in inst.src:
                if is_vreg(s) and vreg(s) in parts:
                    sums[vreg(s)].append(inst)
        changed = True
    return changed


def _shifted(d: Inst, values: Values) -> tuple[Opnd, Opnd] | None:
    """A value, and by how many bits it is shifted."""
    found = shift_left_of(d)
    return (found[0], imm(found[1])) if found is not None and _is_value(found[0], values) else None


def _with_constant(d: Inst, values: Values) -> tuple[Opnd, Opnd] | None:
    """The addends of a sum of a value and a constant of a bank, which may be negated, in this order."""
    if d.op is not _IADD3 or d.src[2] != RZ:
        return None
    a, c = d.src[:2]
    if _is_bank(a, values):
        a, c = c, a
    return (a, c) if _is_bank(c, values) and _is_value(a, values) else None


def _is_bank(o: Opnd, values: Values) -> bool:
    """True for a word of a constant bank, or a register for it: it is an operand of the sum in the end."""
    d = values.definition(o)
    return is_const(o) or (d is not None and d.op is OP_COPY and is_const(d.src[0]) and not has_lane(o))


def _is_value(o: Opnd, values: Values) -> bool:
    """True for a register that is a source as it is, and that no constant stands for."""
    if not is_vreg(o) or not in_file(o, K_R) or has_lane(o) or has_flags(o):
        return False
    d = values.defs[vreg(o)]
    return d is not None and not (d.op is OP_COPY and (is_imm(d.src[0]) or is_const(d.src[0])))


def _other(inst: Inst, v: int, values: Values) -> Opnd:
    """The other addend of a sum of two values one of which is register `v`; K_NONE for what is no such sum."""
    if inst.op is not _IADD3 or len(inst.dst) != 1 or len(inst.src) != 3 or inst.src[2] != RZ:
        return K_NONE
    a, b = inst.src[:2]
    if is_vreg(b) and vreg(b) == v:
        a, b = b, a
    if not is_vreg(a) or vreg(a) != v or has_flags(a) or not _is_value(b, values) or vreg(b) == v:
        return K_NONE
    return b
