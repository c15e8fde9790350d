"""Rewrites of logic: LOP3 look-up tables are composed, simplified and folded; PRMT of constants."""

from typing import Final

from orias.analysis.known_bits import below, possible_bits, trailing_zeros
from orias.isa.op import F_EXTENDS, op
from orias.isa.operand import K_R, NOT_PT, RZ, Opnd, has_lane, has_modifiers, imm, imm_value, in_file, is_imm, vreg
from orias.ori.ir import Inst
from orias.passes.funnels import join_words
from orias.passes.simplify import RULES, Cx, portable
from orias.semantics.integers import byte_index, constant_of, lop3
from orias.semantics.integers import prmt as permute_bytes
from orias.semantics.truth_tables import (
    INPUTS,
    NO_INPUT,
    composed,
    depends_on,
    permuted,
    with_constant,
    with_equal,
)

_LOP3: Final = op("LOP3.LUT")
_EXTENDED: Final = {0x9910: 0x7FFF, 0x8880: 0x7F, 0x7710: 0xFFFF, 0x7770: 0xFF, 0x4410: 0xFFFF, 0x4440: 0xFF}
"""PRMT selector that extends the low half or byte, with its sign or with zeros -> largest value that it leaves as it is."""
_TYPES: Final = {0x9910: ("S16", "S8"), 0x8880: ("S8",), 0x7710: ("U16", "U8"), 0x7770: ("U8",)}
"""The same selectors -> types of results that are extended so already."""
_MASK32: Final = 0xFFFFFFFF
_AND: Final = 0xC0
_JOINING: Final = (0xFC, 0x3C)
"""a | b and a ^ b."""


def _foldable(inst: Inst | None) -> bool:
    return (
        inst is not None
        and inst.op is _LOP3
        and len(inst.dst) == 1
        and inst.src[4] == NOT_PT
        and not has_modifiers(inst.src[0] | inst.src[1] | inst.src[2])
    )


def _lop3(cx: Cx, inst: Inst) -> None:
    if constant_of(inst.src[3]) is None:
        return
    for _ in range(4):
        if inst.op is not _LOP3 or not _step(cx, inst):
            return


def _step(cx: Cx, inst: Inst) -> bool:
    inputs = list(inst.src[:3])
    lut = imm_value(inst.src[3])
    if _reduce(cx, inst, inputs, lut):
        return True
    if lut in _JOINING and inputs[2] == RZ and join_words(cx, inst, inputs[0], inputs[1]):
        return True
    for k in range(3):
        o = inputs[k]
        if not in_file(o, K_R) or o == RZ or has_lane(o) or not depends_on(lut, k):
            continue
        d = cx.definition(o)
        if d is None or not _foldable(d) or not portable(d):
            continue
        if cx.values.uses[vreg(o)] > cx.fn.knobs.logic_readers:
            continue
        merged = _compose(inputs, lut, k, d)
        if merged is not None:
            new_inputs, new_lut = merged
            cx.rewrite(inst, _LOP3, [*new_inputs, imm(new_lut), NOT_PT])
            return True
    return False


def _compose(inputs: list[Opnd], lut: int, k: int, d: Inst) -> tuple[list[Opnd], int] | None:
    """The function with input k replaced by the LOP3 `d`, if at most three inputs (one constant) are left."""
    inner = d.src[:3]
    inner_lut = imm_value(d.src[3])
    distinct: list[Opnd] = []
    for j, o in enumerate(inputs):
        if j != k and depends_on(lut, j) and o not in distinct:
            distinct.append(o)
    for j, o in enumerate(inner):
        if depends_on(inner_lut, j) and o not in distinct:
            distinct.append(o)
    constants = [o for o in distinct if constant_of(o) is not None]
    if len(constants) > 1:
        return _compose_constants(inputs, lut, k, inner, inner_lut, distinct, constants)
    if len(distinct) > 3:
        return None
    while len(distinct) < 3:
        distinct.append(RZ)
    at, inner_at = ([distinct.index(o) if o in distinct else NO_INPUT for o in part] for part in (inputs, inner))
    return distinct, composed(lut, k, inner_lut, at, inner_at)


def _compose_constants(
    inputs: list[Opnd],
    lut: int,
    k: int,
    inner: list[Opnd],
    inner_lut: int,
    distinct: list[Opnd],
    constants: list[Opnd],
) -> tuple[list[Opnd], int] | None:
    """One variable and two constants: (x & m) ^ n, when one constant is enough for it."""
    variables = [o for o in distinct if o not in constants]
    if len(variables) != 1:
        return None
    x = variables[0]
    results: list[int] = []
    for bits in (0, _MASK32):
        a, b, c = (bits if o == x else constant_of(o) or 0 for o in inner)
        value = lop3(a, b, c, inner_lut)
        a, b, c = (value if j == k else bits if o == x else constant_of(o) or 0 for j, o in enumerate(inputs))
        results.append(lop3(a, b, c, lut))
    zero, one = results
    mask = zero ^ one
    if zero == 0:
        return [x, imm(mask), RZ], 0xC0
    if mask == _MASK32:
        return [x, imm(zero), RZ], 0x3C
    if zero | mask == _MASK32 and zero & mask == 0:
        return [x, imm(zero), RZ], 0xFC
    return None


def _reduce(cx: Cx, inst: Inst, inputs: list[Opnd], lut: int) -> bool:
    """Constants, repeated inputs, and functions of fewer inputs."""
    values = [constant_of(o) for o in inputs]
    if not [k for k, v in enumerate(values) if v is None and depends_on(lut, k)]:
        a, b, c = (v or 0 for v in values)
        cx.to_copy(inst, imm(lop3(a, b, c, lut)))
        return True
    new, new_lut = list(inputs), lut
    for k in range(3):
        if not depends_on(new_lut, k):
            new[k] = RZ
        elif values[k] == 0:
            new_lut = with_constant(new_lut, k, False)
            new[k] = RZ
        elif values[k] == _MASK32:
            new_lut = with_constant(new_lut, k, True)
            new[k] = RZ
    for k in range(3):
        for j in range(k):
            if new[k] == new[j] and new[k] != RZ:
                new_lut = with_equal(new_lut, j, k)
                new[k] = RZ
    live = [k for k in range(3) if new[k] != RZ or depends_on(new_lut, k)]
    if len(live) == 1 and new_lut == INPUTS[live[0]]:
        cx.to_copy(inst, new[live[0]])
        return True
    order = _canonical(new, new_lut)
    if order is not None:
        new, new_lut = order
    if new != inputs or new_lut != lut:
        if not any(depends_on(new_lut, k) for k in range(3)):
            cx.to_copy(inst, imm(_MASK32 if new_lut & 1 else 0))
            return True
        cx.rewrite(inst, _LOP3, [*new, imm(new_lut), NOT_PT])
        return True
    return False


def _canonical(inputs: list[Opnd], lut: int) -> tuple[list[Opnd], int] | None:
    """Registers before the constant, RZ last; None if the order is right already."""

    def rank(o: Opnd) -> int:
        return 2 if o == RZ else 1 if is_imm(o) else 0

    ranks = [rank(o) for o in inputs]
    if ranks.count(0) == 2 and ranks.count(1) == 1:
        wanted = [ranks.index(0), ranks.index(1), 2 if ranks[2] == 0 else ranks.index(0, ranks.index(0) + 1)]
    elif ranks[0] <= ranks[1] <= ranks[2]:
        return None
    else:
        wanted = sorted(range(3), key=lambda k: (ranks[k], k))
    if wanted == [0, 1, 2]:
        return None
    return [inputs[k] for k in wanted], permuted(lut, wanted)


def prmt(cx: Cx, inst: Inst) -> None:
    """PRMT a, selector, b with constant operands."""
    if inst.op.name != "PRMT" or len(inst.src) != 3:
        return
    a, s, b = inst.src
    selector = constant_of(s)
    if selector is None:
        return
    selector &= 0xFFFF
    if selector == 0x3210:
        cx.to_copy(inst, a)
        return
    if selector == 0x7654:
        cx.to_copy(inst, b)
        return
    va, vb = constant_of(a), constant_of(b)
    if all((va if byte_index(selector, k, "") < 4 else vb) is not None for k in range(4)):
        cx.to_copy(inst, imm(permute_bytes(va or 0, selector, vb or 0)))
    elif selector in _EXTENDED and (selector & 0x800 or vb == 0):
        if below(cx.values.defs, a) <= _EXTENDED[selector] or _extended(cx, a, _TYPES.get(selector, ())):
            cx.to_copy(inst, a)


def _extended(cx: Cx, a: Opnd, types: tuple[str, ...]) -> bool:
    """Whether a load or conversion has extended its result of one of these types to a register."""
    d = cx.definition(a) if not has_lane(a) and not has_modifiers(a) else None
    return d is not None and bool(d.op.flags & F_EXTENDS) and any(m in d.op.mods for m in types)


def _mask_of_all(cx: Cx, inst: Inst, mask: int) -> bool:
    """x & m where only the bits of m may be 1 in x: of a load of a byte or half, and what is shifted down from one."""
    if has_lane(inst.src[0]) or possible_bits(cx.values.defs, inst.src[0]) & ~mask:
        return False
    cx.to_copy(inst, inst.src[0])
    return True


def _mask_of_zeros(cx: Cx, inst: Inst, mask: int) -> bool:
    """x & m where the bits of m are 0 in x: the bytes that a copy of all or nothing leaves out."""
    if mask >> trailing_zeros(cx.values.defs, inst.src[0]):
        return False
    cx.to_copy(inst, imm(0))
    return True


def _logic(cx: Cx, inst: Inst) -> None:
    if not _foldable(inst):
        return
    mask = constant_of(inst.src[1]) if imm_value(inst.src[3]) == _AND else None
    if mask is None or not (_mask_of_all(cx, inst, mask) or _mask_of_zeros(cx, inst, mask)):
        _lop3(cx, inst)


RULES["LOP3"] = _logic
RULES["PRMT"] = prmt
