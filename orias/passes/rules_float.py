"""Rewrites of floating point: contraction of multiply and add, and signs that move into the user."""

from typing import Final

from orias.isa.op import F_ABSOLUTE, op
from orias.isa.operand import (
    ABS,
    INV,
    K_R,
    NEG,
    NOT_PT,
    PT,
    Opnd,
    has_flags,
    has_lane,
    has_suffix,
    imm,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    is_zero_reg,
    vreg,
)
from orias.ori.ir import Inst
from orias.passes.float_bounds import UNKNOWN, is_number, least_value
from orias.passes.rules_pred import decide
from orias.passes.simplify import RULES, Cx, portable
from orias.target import features

_ONE: Final = 0x3F800000
_EXACT: Final = frozenset(("RN", "RM", "RP", "RZ"))
_AT_LEAST: Final = {"GEU": True, "LT": False}
"""Comparison with a number of which it is known that the operand is not below it -> its result."""
_FUSED: Final = {"FADD": ("FMUL", "FFMA"), "DADD": ("DMUL", "DFMA")}


def _add(cx: Cx, inst: Inst) -> None:
    _take_signs(cx, inst, 2)
    if inst.uid not in cx.fn.contract or len(inst.src) != 2:
        return
    product, fused = _FUSED[inst.op.base]
    plain = tuple(m for m in inst.op.mods if m != "SAT")
    for k in (0, 1):
        s = inst.src[k]
        if s & ABS or has_lane(s):
            continue
        d = cx.absorbable(s)
        if d is None:
            # A product with a few readers is multiplied again by each; most often it has no other readers than sums.
            d = cx.definition(s)
            if d is not None and (cx.values.uses[vreg(s)] > cx.fn.knobs.fused_product_readers or not portable(d)):
                d = None
        if d is None or d.op.base != product or d.op.mods != plain or d.uid not in cx.fn.contract:
            continue
        a, b = d.src[0], d.src[1]
        other = inst.src[1 - k]
        if other & ABS or (a | b) & ABS:
            continue
        if s & NEG:
            a ^= NEG
            if not in_file(a, K_R):
                continue
        cx.rewrite(inst, op(".".join([fused, *inst.op.mods])), [a, b, other])
        cx.fn.contract.discard(inst.uid)
        return


def _multiply(cx: Cx, inst: Inst) -> None:
    _take_signs(cx, inst, 2)
    _drop_two_signs(cx, inst)
    if inst.op.base != "FMUL" or not _EXACT.issuperset(inst.op.mods):
        return
    for k in (0, 1):
        s = inst.src[1 - k]
        if inst.src[k] == imm(_ONE) and is_bare(s) and is_number(cx.values, s):
            # A product with 1 changes NaN only.
            cx.to_copy(inst, s)
            return


def _fused(cx: Cx, inst: Inst) -> None:
    _take_signs(cx, inst, 3)
    _drop_two_signs(cx, inst)


def _drop_two_signs(cx: Cx, inst: Inst) -> None:
    """-a * -b is a * b; ptxas 13.0.88 leaves both signs to FFMA, and takes them from FMUL."""
    a, b = inst.src[0], inst.src[1]
    if a & b & NEG:
        cx.rewrite(inst, inst.op, [a ^ NEG, b ^ NEG, *inst.src[2:]])


def _sign_of(cx: Cx, o: Opnd, double: bool) -> Opnd | None:
    """``x`` with the sign flags that make it equal to `o`, if `o` is only a negation or absolute value of it."""
    d = cx.definition(o)
    if d is None or d.op.name != ("DADD" if double else "FADD") or len(d.src) != 2:
        return None
    if o & INV or has_lane(o) or has_suffix(o):
        return None
    x, z = d.src
    if not is_zero_reg(x) and is_zero_reg(z) and z & NEG and x & (NEG | ABS):
        inner = x
    elif is_zero_reg(x) and x & NEG and z & (NEG | ABS):
        inner = z
    else:
        return None
    if has_suffix(inner) or not in_file(inner, K_R) or not is_vreg(inner):
        return None
    if o & ABS:
        inner = (inner | ABS) & ~NEG
    return inner ^ (o & NEG)


def _take_signs(cx: Cx, inst: Inst, count: int) -> None:
    """Sources that are -x or |x| of something become flags (FMUL and FFMA take no absolute value)."""
    allow_abs = inst.op.flags & F_ABSOLUTE != 0
    double = inst.op.base[0] == "D"
    src: list[Opnd] | None = None
    for k, o in enumerate(inst.src[:count]):
        n = _sign_of(cx, o, double)
        if n is not None and n != o and (allow_abs or not n & ABS):
            if src is None:
                src = list(inst.src)
            src[k] = n
    if src is not None:
        cx.rewrite(inst, inst.op, src)


def _compare(cx: Cx, inst: Inst) -> None:
    if inst.op.has("XORSIGN"):
        # The signs of the operands count although they stand in absolute values.
        return
    _take_signs(cx, inst, 2)
    _compare_bound(cx, inst)


def _compare_bound(cx: Cx, inst: Inst) -> None:
    """A comparison with a number that the operand is never below (NaN counts as above), and of what is never NaN with NaN."""
    if inst.op.base != "FSETP" or len(inst.src) != 3 or len(inst.dst) != 2 or inst.dst[1] != PT:
        return
    if inst.op.mods[0] in ("NAN", "NUM") and all(is_number(cx.values, s) for s in inst.src[:2]):
        decide(cx, inst, inst.op.mods[0] == "NUM", inst.src[2])
        return
    result = _AT_LEAST.get(inst.op.mods[0])
    if result is None:
        return
    value = least_value(cx.values, inst.src[1]) if is_imm(inst.src[1]) else UNKNOWN
    if value > 0 and least_value(cx.values, inst.src[0]) >= value:
        decide(cx, inst, result, inst.src[2])


def _extreme(cx: Cx, inst: Inst) -> None:
    """The minimum of a minimum is one of three values, where the target has that operation; ptxas 13.0.88 does the same."""
    if not inst.op.has("XORSIGN"):
        _take_signs(cx, inst, 2)
    least = inst.src[2]
    if inst.src[0] == inst.src[1] and not inst.op.mods and is_bare(inst.src[0]) and is_number(cx.values, inst.src[0]):
        cx.to_copy(inst, inst.src[0])
        return
    if not cx.fn.target.has(features.THREE_WAY_MIN_MAX) or inst.op.has("XORSIGN") or least not in (PT, NOT_PT):
        return
    for k in (0, 1):
        s = inst.src[k]
        d = cx.absorbable(s) if not has_flags(s) and not has_lane(s) else None
        if d is None or d.op is not inst.op or d.src[2] != least:
            continue
        values = sorted([*d.src[:2], inst.src[1 - k]], key=lambda o: not in_file(o, K_R))
        if in_file(values[1], K_R):
            # Only the second value may be something else than a register.
            cx.rewrite(inst, op(".".join(["FMNMX3", *inst.op.mods])), [values[0], values[2], values[1], least])
            return


RULES["FADD"] = _add
RULES["DADD"] = _add
RULES["FMUL"] = _multiply
RULES["DMUL"] = _multiply
RULES["FFMA"] = _fused
RULES["DFMA"] = _fused
RULES["FSETP"] = _compare
RULES["DSETP"] = _compare
RULES["FMNMX"] = _extreme
