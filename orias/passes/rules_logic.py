"""Rewrites of logic: LOP3 look-up tables are composed, simplified and folded; PRMT of constants."""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    FLAG_MASK,
    K_IMM,
    K_R,
    KIND_MASK,
    LANE_MASK,
    NOT_PT,
    PAYLOAD_SHIFT,
    RZ,
    SUFFIX_MASK,
    Opnd,
    imm,
)
from orias.ori.ir import Inst
from orias.passes.simplify import RULES, Cx, imm_value, portable

_LOP3: Final = op("LOP3.LUT")
_MASK32: Final = 0xFFFFFFFF
_TRUTH: Final = (0xF0, 0xCC, 0xAA)
"""Look-up table of each input alone: bit i of a table is f(a, b, c) for i = 4a + 2b + c."""
_MAX_DUPLICATED_USES: Final = 2


def apply_lut(lut: int, a: int, b: int, c: int) -> int:
    """Bitwise f(a, b, c) on 32-bit patterns."""
    out = 0
    for i in range(8):
        if lut >> i & 1:
            out |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return out & _MASK32


def _reads(lut: int, k: int) -> bool:
    """True if the function depends on input k."""
    shift = (4, 2, 1)[k]
    return any((lut >> i & 1) != (lut >> (i ^ shift) & 1) for i in range(8))


def _foldable(inst: Inst | None) -> bool:
    return (
        inst is not None
        and inst.op is _LOP3
        and len(inst.dst) == 1
        and inst.src[4] == NOT_PT
        and not any(s & (FLAG_MASK | SUFFIX_MASK) for s in inst.src[:3])
    )


def _lop3(cx: Cx, inst: Inst) -> None:
    if not _foldable(inst) or imm_value(inst.src[3]) is None:
        return
    for _ in range(4):
        if inst.op is not _LOP3 or not _step(cx, inst):
            return


def _step(cx: Cx, inst: Inst) -> bool:
    inputs = list(inst.src[:3])
    lut = inst.src[3] >> PAYLOAD_SHIFT
    if _reduce(cx, inst, inputs, lut):
        return True
    for k in range(3):
        o = inputs[k]
        if o & KIND_MASK != K_R or o == RZ or o & LANE_MASK or not _reads(lut, k):
            continue
        d = cx.definition(o)
        if d is None or not _foldable(d) or not portable(d):
            continue
        if cx.values.uses[o >> PAYLOAD_SHIFT] > _MAX_DUPLICATED_USES:
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
    inner_lut = d.src[3] >> PAYLOAD_SHIFT
    distinct: list[Opnd] = []
    for j, o in enumerate(inputs):
        if j != k and _reads(lut, j) and o not in distinct:
            distinct.append(o)
    for j, o in enumerate(inner):
        if _reads(inner_lut, j) and o not in distinct:
            distinct.append(o)
    constants = [o for o in distinct if imm_value(o) is not None]
    if len(constants) > 1:
        return _compose_constants(inputs, lut, k, inner, inner_lut, distinct, constants)
    if len(distinct) > 3:
        return None
    while len(distinct) < 3:
        distinct.append(RZ)
    new = 0
    for i in range(8):
        env = {distinct[2]: i & 1, distinct[1]: i >> 1 & 1, distinct[0]: i >> 2 & 1}
        new |= _evaluate(inputs, lut, k, inner, inner_lut, env) << i
    return distinct, new


def _evaluate(inputs: list[Opnd], lut: int, k: int, inner: list[Opnd], inner_lut: int, env: dict[Opnd, int]) -> int:
    v = 0
    for o in inner:
        v = v << 1 | env.get(o, 0)
    bit = inner_lut >> v & 1
    v = 0
    for j, o in enumerate(inputs):
        v = v << 1 | (bit if j == k else env.get(o, 0))
    return lut >> v & 1


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
    for bit in (0, 1):
        value = 0
        for pos in range(32):
            env = {c: (imm_value(c) or 0) >> pos & 1 for c in constants}
            env[x] = bit
            value |= _evaluate(inputs, lut, k, inner, inner_lut, env) << pos
        results.append(value)
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
    values = [imm_value(o) for o in inputs]
    if all(v is not None or not _reads(lut, k) for k, v in enumerate(values)):
        a, b, c = (v or 0 for v in values)
        cx.to_copy(inst, imm(apply_lut(lut, a, b, c)))
        return True
    new, new_lut = list(inputs), lut
    for k in range(3):
        shift = (4, 2, 1)[k]
        if not _reads(new_lut, k):
            new[k] = RZ
        elif values[k] == 0:
            new_lut = sum((new_lut >> (i & ~shift) & 1) << i for i in range(8))
            new[k] = RZ
        elif values[k] == _MASK32:
            new_lut = sum((new_lut >> (i | shift) & 1) << i for i in range(8))
            new[k] = RZ
    for k in range(3):
        for j in range(k):
            if new[k] == new[j] and new[k] != RZ:
                new_lut = _tie(new_lut, j, k)
                new[k] = RZ
    live = [k for k in range(3) if new[k] != RZ or _reads(new_lut, k)]
    if len(live) == 1 and new_lut == _TRUTH[live[0]]:
        cx.to_copy(inst, new[live[0]])
        return True
    order = _canonical(new, new_lut)
    if order is not None:
        new, new_lut = order
    if new != inputs or new_lut != lut:
        if not any(_reads(new_lut, k) for k in range(3)):
            cx.to_copy(inst, imm(_MASK32 if new_lut & 1 else 0))
            return True
        cx.rewrite(inst, _LOP3, [*new, imm(new_lut), NOT_PT])
        return True
    return False


def _tie(lut: int, j: int, k: int) -> int:
    """The table with input k always equal to input j."""
    sj, sk = (4, 2, 1)[j], (4, 2, 1)[k]
    out = 0
    for i in range(8):
        src = i | sk if i & sj else i & ~sk
        out |= (lut >> src & 1) << i
    return out


def _canonical(inputs: list[Opnd], lut: int) -> tuple[list[Opnd], int] | None:
    """Registers before the constant, RZ last; None if the order is right already."""

    def rank(o: Opnd) -> int:
        return 2 if o == RZ else 1 if o & KIND_MASK == K_IMM else 0

    ranks = [rank(o) for o in inputs]
    if ranks.count(0) == 2 and ranks.count(1) == 1:
        wanted = [ranks.index(0), ranks.index(1), 2 if ranks[2] == 0 else ranks.index(0, ranks.index(0) + 1)]
    else:
        wanted = sorted(range(3), key=lambda k: (ranks[k], k))
    if wanted == [0, 1, 2]:
        return None
    return [inputs[k] for k in wanted], permuted(lut, wanted)


def permuted(lut: int, order: list[int]) -> int:
    """The table of LOP3 for its inputs in another order: input ``order[k]`` comes to place k."""
    out = 0
    for i in range(8):
        v = 0
        for place, k in enumerate(order):
            v |= (i >> (2 - place) & 1) << (2 - k)
        out |= (lut >> v & 1) << i
    return out


def prmt(cx: Cx, inst: Inst) -> None:
    """PRMT a, selector, b with constant operands."""
    if inst.op.name != "PRMT" or len(inst.src) != 3 or any(s & (FLAG_MASK | SUFFIX_MASK) for s in inst.src):
        return
    a, s, b = inst.src
    selector = imm_value(s)
    if selector is None:
        return
    selector &= 0xFFFF
    if selector == 0x3210:
        cx.to_copy(inst, a)
        return
    if selector == 0x7654:
        cx.to_copy(inst, b)
        return
    va, vb = imm_value(a), imm_value(b)
    nibbles = [selector >> 4 * i & 15 for i in range(4)]
    if all((va if n & 7 < 4 else vb) is not None for n in nibbles):
        value = (va or 0) | (vb or 0) << 32
        out = 0
        for i, n in enumerate(nibbles):
            byte = value >> 8 * (n & 7) & 255
            if n & 8:
                byte = 255 if byte >> 7 else 0
            out |= byte << 8 * i
        cx.to_copy(inst, imm(out))
    elif selector == 0x7710 and vb == 0:
        _zero_extended(cx, inst, a, ("U16", "U8"))
    elif selector == 0x7770 and vb == 0:
        _zero_extended(cx, inst, a, ("U8",))


def _zero_extended(cx: Cx, inst: Inst, a: Opnd, loads: tuple[str, ...]) -> None:
    """A load that already zero-extends needs no second extension."""
    d = cx.definition(a) if not a & LANE_MASK else None
    if d is not None and d.op.base in ("LDG", "LD", "LDS", "LDL", "LDC") and any(m in d.op.mods for m in loads):
        cx.to_copy(inst, a)


def _mask_of_load(cx: Cx, inst: Inst) -> bool:
    """x & 0xff of an unsigned byte load, x & 0xffff of an unsigned half load."""
    if not _foldable(inst) or inst.src[3] >> PAYLOAD_SHIFT != 0xC0:
        return False
    mask = imm_value(inst.src[1])
    if mask not in (0xFF, 0xFFFF):
        return False
    _zero_extended(cx, inst, inst.src[0], ("U8",) if mask == 0xFF else ("U8", "U16"))
    return inst.op is not _LOP3


def _logic(cx: Cx, inst: Inst) -> None:
    if not _mask_of_load(cx, inst):
        _lop3(cx, inst)


RULES["LOP3"] = _logic
RULES["PRMT"] = prmt
