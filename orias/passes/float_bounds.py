"""What is known of 32-bit floats: a sum of 1 and a power of two is at least 1, and no integer becomes NaN."""

from typing import Final

from orias.isa.operand import (
    ABS,
    K_NONE,
    K_R,
    NEG,
    NOT_PT,
    PT,
    Opnd,
    has_lane,
    has_suffix,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    is_zero_reg,
)
from orias.ori.ir import Inst
from orias.passes.def_use import Values

UNKNOWN: Final = -1
_INFINITY: Final = 0x7F800000
_SMALLEST_NORMAL: Final = 0x00800000
_ROUNDING: Final = frozenset(("FTZ", "RN", "RM", "RP", "RZ"))
_OTHER_FLOATS: Final = frozenset(("F16", "BF16", "F64"))
_DEPTH: Final = 8
"""Definitions that are looked through at most."""


def least_value(values: Values, o: Opnd, depth: int = _DEPTH) -> int:
    """The pattern of a number of 0 or more that the operand is not below, unless it is NaN; or UNKNOWN.

    Patterns of such numbers are ordered as integers.  Bounds below the normal range, whose numbers may be flushed, count as 0.
    """
    if has_lane(o) or has_suffix(o):
        return UNKNOWN
    if is_imm(o):
        bits = imm_value(o) & 0xFFFFFFFF
        return UNKNOWN if bits > _INFINITY else bits if bits >= _SMALLEST_NORMAL else 0
    if is_zero_reg(o):
        return 0
    if not in_file(o, K_R):
        return UNKNOWN
    if o & NEG:
        return UNKNOWN
    known = 0 if o & ABS else UNKNOWN
    if depth == 0 or not is_vreg(o):
        return known
    d = values.definition(o)
    if d is None:
        return known
    bound = _of_result(values, d, depth - 1)
    if d.guard != PT:
        bound = min(bound, least_value(values, d.old, depth - 1)) if d.old != K_NONE else UNKNOWN
    return max(known, bound)


def _of_result(values: Values, d: Inst, depth: int) -> int:
    base, mods = d.op.base, d.op.mods
    if base == "MUFU":
        return 0 if mods in (("EX2",), ("SQRT",)) else UNKNOWN
    if base == "FSEL":
        return min(least_value(values, d.src[0], depth), least_value(values, d.src[1], depth))
    if base == "FMNMX" and not mods and d.src[2] == NOT_PT:
        # The maximum of NaN and a number is the number.
        return max(least_value(values, s, depth) if is_imm(s) or is_zero_reg(s) else UNKNOWN for s in d.src[:2])
    if not _ROUNDING.issuperset(mods):
        return UNKNOWN
    if base == "FADD" and len(d.src) == 2:
        a, b = least_value(values, d.src[0], depth), least_value(values, d.src[1], depth)
        return max(a, b) if a >= 0 and b >= 0 else UNKNOWN
    if base == "FMUL" and len(d.src) == 2:
        return 0 if _product_is_positive(values, d, depth) else UNKNOWN
    if base == "FFMA" and len(d.src) == 3 and _product_is_positive(values, d, depth):
        return least_value(values, d.src[2], depth)
    return UNKNOWN


def _product_is_positive(values: Values, d: Inst, depth: int) -> bool:
    a, b = d.src[0], d.src[1]
    if a == b and not has_lane(a) and not has_suffix(a):
        return True
    return least_value(values, a, depth) >= 0 and least_value(values, b, depth) >= 0


def is_number(values: Values, o: Opnd, depth: int = _DEPTH) -> bool:
    """True if a 32-bit float, here with or without a sign changed, is never NaN, whatever the program computes from."""
    if has_lane(o) or has_suffix(o):
        return False
    if is_imm(o):
        return imm_value(o) & 0x7FFFFFFF <= _INFINITY
    if is_zero_reg(o):
        return True
    d = values.definition(o) if depth and is_vreg(o) and in_file(o, K_R) else None
    if d is None or d.guard != PT:
        return False
    if d.op.base in ("I2F", "I2FP"):
        return "F32" in d.op.mods or (d.op.base == "I2F" and not _OTHER_FLOATS.intersection(d.op.mods))
    if d.op.base == "FMNMX" and "NAN" not in d.op.mods:
        return any(is_number(values, s, depth - 1) for s in d.src[:2])
    if d.op.base == "FSEL":
        return all(is_number(values, s, depth - 1) for s in d.src[:2])
    return False
