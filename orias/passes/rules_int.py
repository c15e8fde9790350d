"""Rewrites of integer arithmetic: constants, three-input adds, multiply-add, LEA, wide addresses."""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    INV,
    K_P,
    K_R,
    NEG,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_flags,
    has_lane,
    imm,
    imm64,
    imm_value,
    in_file,
    is_imm,
    is_physical,
    is_vreg,
    vreg,
    with_word_lane,
    without_lane,
)
from orias.ori.ir import OP_PACK, Inst
from orias.passes.funnels import join_pairs, join_words
from orias.passes.simplify import RULES, Cx, pack, portable
from orias.semantics.integers import (
    add,
    constant64_of,
    constant_of,
    evaluate,
    multiply,
    multiply_wide,
    negate,
    shift_left,
)
from orias.target import features

_IADD3: Final = op("IADD3")
_IADD3_X: Final = op("IADD3.X")
_IMAD: Final = op("IMAD")
_LEA: Final = op("LEA")
_IADD64: Final = op("iadd64")
_SHL64: Final = op("shl64")
_WIDE: Final = {True: op("IMAD.WIDE"), False: op("IMAD.WIDE.U32")}
_SHL: Final = op("SHF.L.U32")
_SHR: Final = op("SHF.R.U32.HI")
_FUNNEL_LEFT: Final = (op("SHF.L.U32.HI"), op("SHF.L.W.U32.HI"))
_FUNNEL_RIGHT: Final = (op("SHF.R.U32"), op("SHF.R.W.U32"))
_LEA_HI: Final = op("LEA.HI")
_SHR_SIGNED: Final = op("SHF.R.S32.HI")
_LEA_HI_SIGNED: Final = op("LEA.HI.SX32")
_LEA_HI_X: Final = op("LEA.HI.X")
_LEA_HI_X_SIGNED: Final = op("LEA.HI.X.SX32")


def _plain_add(inst: Inst | None) -> bool:
    return inst is not None and inst.op is _IADD3 and len(inst.dst) == 1


def shift_left_of(inst: Inst | None) -> tuple[Opnd, int] | None:
    """(x, k) if the instruction computes x << k with 0 < k < 32, as a shift or as a multiplication."""
    if inst is None or len(inst.dst) != 1:
        return None
    if inst.op is _SHL and inst.src[2] == RZ:
        k = constant_of(inst.src[1])
        if k is not None and 0 < k < 32:
            return inst.src[0], k
    if inst.op.base == "IMAD" and inst.op.mods in ((), ("U32",)) and inst.src[2] == RZ:
        v = constant_of(inst.src[1])
        if v is not None and v > 1 and v & (v - 1) == 0:
            return inst.src[0], v.bit_length() - 1
    return None


def _upper_word(inst: Inst | None) -> tuple[Opnd, int, Opnd] | None:
    """(low, k, high) if the instruction gives the upper word of {high, low} << k with 0 < k < 32: shifts to the right, rotations, funnels."""
    if inst is None or len(inst.dst) != 1 or inst.op.base != "SHF":
        return None
    k = constant_of(inst.src[1])
    if k is None or not 0 < k < 32:
        return None
    low, high = inst.src[0], inst.src[2]
    if inst.op is _SHR:
        if low != RZ:
            return None
        low, k, high = high, 32 - k, RZ
    elif inst.op in _FUNNEL_RIGHT:
        k = 32 - k
    elif inst.op not in _FUNNEL_LEFT:
        return None
    return (low, k, high) if all(in_file(o, K_R) and not has_flags(o) for o in (low, high)) else None


def _add3(cx: Cx, inst: Inst) -> None:
    if inst.op is _IADD3_X and inst.src[3:] == [NOT_PT, NOT_PT] and not any(s & INV for s in inst.src[:3]):
        # Without a carry the upper word is a sum like others.
        cx.rewrite(inst, _IADD3, inst.src[:3])
    if inst.op is _IADD3_X:
        _add_upper_word_and_carry(cx, inst)
    if inst.op is not _IADD3:
        return
    if len(inst.dst) > 1:
        _add3_with_carry(cx, inst)
        return
    terms, total = _terms(inst)
    # A sum that is there anyway stays, where its constant as a third addend would be in the way.
    if (
        len(terms) == 2
        and total == 0
        and any(_adds_constant(cx, t) for t in terms)
        and _add_upper_word(cx, inst, terms)
    ):
        return
    changed = _flatten(cx, terms, total)
    total = changed[1]
    terms = changed[0]
    if _cancel(terms):
        changed = (terms, total, True)
    if not terms:
        cx.to_copy(inst, imm(total))
        return
    if len(terms) == 1 and total == 0 and not has_flags(terms[0]):
        cx.to_copy(inst, terms[0])
        return
    if _combine_terms(cx, inst, terms, total):
        return
    new = _arrange(terms, total)
    if new != inst.src and (changed[2] or sorted(new) != sorted(inst.src)):
        cx.rewrite(inst, _IADD3, new)


def _arrange(terms: list[Opnd], total: int) -> list[Opnd]:
    """Three sources: registers first, the constant in the second place."""
    if len(terms) == 1:
        return [terms[0], imm(total), RZ] if total else [RZ, terms[0], RZ]
    if len(terms) == 2:
        return [terms[0], imm(total), terms[1]] if total else [terms[0], terms[1], RZ]
    return terms


def _cancel(terms: list[Opnd]) -> bool:
    """Remove pairs x, -x."""
    for a in terms:
        if a ^ NEG in terms:
            terms.remove(a)
            terms.remove(a ^ NEG)
            return True
    return False


def _terms(inst: Inst) -> tuple[list[Opnd], int]:
    """The addends of an addition that are not constant, and the sum of those that are."""
    terms: list[Opnd] = []
    total = 0
    for s in inst.src:
        v = constant_of(s)
        if v is None:
            terms.append(s)
        else:
            total = add(total, v)
    return terms, total


def _flatten(cx: Cx, terms: list[Opnd], total: int) -> tuple[list[Opnd], int, bool]:
    """Replace an addend that is an addition used only here (or that only adds a constant) by its own addends, while three terms suffice."""
    changed = False
    k = 0
    while k < len(terms):
        t = terms[k]
        k += 1
        if t & INV or has_lane(t):
            continue
        d = cx.definition(t)
        if d is None or d.op is not _IADD3 or len(d.dst) != 1:
            continue
        inner, const = _terms(d)
        single = cx.values.uses[vreg(t)] == 1
        if any(s & INV or not _stable(s) for s in inner):
            continue
        if t & NEG:
            inner = [s ^ NEG for s in inner]
            const = negate(const)
        merged = add(total, const)
        count = len(terms) - 1 + len(inner) + (1 if merged else 0)
        if count > 3 or (not single and len(inner) > 1):
            continue
        negated = sum(1 for s in [*terms[: k - 1], *inner, *terms[k:]] if s & NEG)
        if negated > 2:
            continue
        terms = [*terms[: k - 1], *inner, *terms[k:]]
        total = merged
        changed = True
        k = 0
    return terms, total, changed


def _stable(s: Opnd) -> bool:
    """False for physical registers, which may change."""
    return not (in_file(s, K_R) and is_physical(s))


def _combine_terms(cx: Cx, inst: Inst, terms: list[Opnd], total: int) -> bool:
    """x << k plus y becomes LEA, a * b plus y becomes IMAD."""
    if len(terms) + (1 if total else 0) != 2:
        return False
    if len(terms) == 2 and not has_lane(terms[0]) and join_words(cx, inst, terms[0], terms[1]):
        return True
    for k, t in enumerate(terms):
        if has_flags(t):
            if t & NEG and _subtract_product(cx, inst, t, terms[:k] + terms[k + 1 :], total):
                return True
            continue
        d = cx.absorbable(t)
        rest = terms[:k] + terms[k + 1 :]
        other = rest[0] if rest else imm(total)
        if rest and rest[0] == t:
            return False
        shifted = shift_left_of(d)
        if shifted is not None and not has_flags(shifted[0]):
            x, left = shifted
            if is_imm(other) or has_flags(other):
                cx.rewrite(inst, _IMAD, [x, imm(shift_left(1, left)), other])
            else:
                cx.rewrite(inst, _LEA, [x, other, imm(left)])
            return True
        if d is not None and d.op.base == "IMAD" and d.op.mods in ((), ("U32",)) and d.src[2] == RZ:
            cx.rewrite(inst, _IMAD, [d.src[0], d.src[1], other])
            return True
    return _add_upper_word(cx, inst, [*terms, *([imm(total)] if total else [])])


def _adds_constant(cx: Cx, o: Opnd) -> bool:
    """True for a register plus a constant."""
    d = cx.definition(o) if is_vreg(o) else None
    return d is not None and _plain_add(d) and len(_terms(d)[0]) == 1


def _add_upper_word(cx: Cx, inst: Inst, terms: list[Opnd]) -> bool:
    """x >> k plus y becomes LEA.HI, and other upper words likewise."""
    for t, other in ((terms[0], terms[1]), (terms[1], terms[0])):
        if is_imm(t) or has_flags(t) or other == t or not (is_imm(other) or in_file(other, K_R)) or other & INV:
            continue
        d = cx.absorbable(t)
        upper = _upper_word(d)
        if upper is not None:
            low, left, high = upper
            cx.rewrite(inst, _LEA_HI, [low, other, high, imm(left)])
            return True
        k = constant_of(d.src[1]) if d is not None and d.op is _SHR_SIGNED else None
        if d is not None and k is not None and 0 < k < 32 and in_file(d.src[2], K_R) and not has_flags(d.src[2]):
            cx.rewrite(inst, _LEA_HI_SIGNED, [d.src[2], other, imm(32 - k)])
            return True
    return False


def _add_upper_word_and_carry(cx: Cx, inst: Inst) -> None:
    """The upper word of x >> k plus that of y becomes LEA.HI.X, which takes the carry."""
    if len(inst.dst) != 1 or inst.src[4] != NOT_PT or cx.fn.target.has(features.LONG_INTEGERS):
        return
    terms = [s for s in inst.src[:3] if s != RZ]
    if len(terms) != 2:
        return
    for t, other in ((terms[0], terms[1]), (terms[1], terms[0])):
        if has_flags(t) or has_flags(other) or other == t or not in_file(t, K_R) or not in_file(other, K_R):
            continue
        d = cx.absorbable(t)
        upper = _upper_word(d)
        if upper is not None:
            low, left, high = upper
            cx.rewrite(inst, _LEA_HI_X, [low, other, high, imm(left), inst.src[3]])
            return
        k = constant_of(d.src[1]) if d is not None and d.op is _SHR_SIGNED else None
        if d is not None and k is not None and 0 < k < 32 and in_file(d.src[2], K_R) and not has_flags(d.src[2]):
            cx.rewrite(inst, _LEA_HI_X_SIGNED, [d.src[2], other, imm(32 - k), inst.src[3]])
            return


def _subtract_product(cx: Cx, inst: Inst, t: Opnd, rest: list[Opnd], total: int) -> bool:
    """y - x * c is y + x * -c."""
    d = cx.absorbable(t ^ NEG)
    other = rest[0] if rest else imm(total)
    if d is None or has_flags(other) or other == t ^ NEG:
        return False
    shifted = shift_left_of(d)
    if shifted is not None:
        x, factor = shifted[0], shift_left(1, shifted[1])
    elif d.op.base == "IMAD" and d.op.mods in ((), ("U32",)) and d.src[2] == RZ and constant_of(d.src[1]) is not None:
        x, factor = d.src[0], constant_of(d.src[1]) or 0
    else:
        return False
    if has_flags(x):
        return False
    cx.rewrite(inst, _IMAD, [x, imm(negate(factor)), other])
    return True


def _add3_with_carry(cx: Cx, inst: Inst) -> None:
    """Adding zero carries nothing; subtracting zero (x + ~0 + 1) always carries."""
    if len(inst.dst) != 2:
        return
    live = [s for s in inst.src if s not in (RZ, RZ | NEG) and constant_of(s) != 0]
    negated = inst.src.count(RZ | NEG)
    carry = inst.dst[1]
    if len(live) == 1 and negated < 2 and not has_flags(live[0]) and is_vreg(carry):
        value = PT if negated else NOT_PT
        cx.insert("copy", [carry], [value], inst.loc)
        cx.repl[vreg(carry)] = value
        cx.to_copy(inst, live[0])


def _mad(cx: Cx, inst: Inst) -> None:
    mods = inst.op.mods
    if len(inst.dst) != 1 or len(inst.src) != 3:
        return
    if "WIDE" in mods and "X" not in mods:
        _mad_wide(cx, inst)
        return
    if mods not in ((), ("U32",)):
        return
    a, b, c = inst.src
    if c != RZ and constant_of(c) == 0:
        c = RZ
        cx.rewrite(inst, inst.op, [a, b, c])
    va, vb = constant_of(a), constant_of(b)
    if va is not None and vb is not None:
        cx.rewrite(inst, _IADD3, [imm(multiply(va, vb)), c, RZ])
        _add3(cx, inst)
        return
    if va is not None:
        a, b = b, a
        vb = va
        cx.rewrite(inst, inst.op, [a, b, c])
    if vb == 0:
        cx.rewrite(inst, _IADD3, [c, RZ, RZ])
        _add3(cx, inst)
    elif vb == 1:
        cx.rewrite(inst, _IADD3, [a, c, RZ])
        _add3(cx, inst)
    elif vb is not None and not has_flags(a):
        _mad_constant(cx, inst, a, vb, c)


def _mad_constant(cx: Cx, inst: Inst, a: Opnd, factor: int, c: Opnd) -> None:
    d = cx.absorbable(a)
    if c == RZ and d is not None:
        inner = shift_left_of(d)
        if inner is not None:
            # (x << k) * f
            cx.rewrite(inst, _IMAD, [inner[0], imm(shift_left(factor, inner[1])), RZ])
            return
        if _plain_add(d):
            # (x + const) * f = x * f + const * f
            consts = [constant_of(s) for s in d.src]
            regs = [s for s, v in zip(d.src, consts, strict=True) if v is None]
            if len(regs) == 1 and not has_flags(regs[0]):
                k = 0
                for v in consts:
                    if v is not None:
                        k = add(k, v)
                cx.rewrite(inst, _IMAD, [regs[0], imm(factor), imm(multiply(k, factor))])
                return
    if in_file(c, K_R) and c != RZ and not has_flags(c) and factor & (factor - 1) == 0 and factor > 1:
        cx.rewrite(inst, _LEA, [a, c, imm(factor.bit_length() - 1)])


def _mad_wide(cx: Cx, inst: Inst) -> None:
    a, b, c = inst.src
    signed = "U32" not in inst.op.mods
    va, vb = constant_of(a), constant_of(b)
    if va is not None and vb is None:
        cx.rewrite(inst, inst.op, [b, a, c])
        vb, va = va, None
    if va is not None and vb is not None:
        product = multiply_wide(va, vb, signed)
        if cx.fn.expanded:
            _add_words(cx, inst, c, imm64(product))
        else:
            cx.rewrite(inst, _IADD64, [c, imm64(product)])
        return
    if vb == 0:
        cx.to_copy(inst, c)


def _add64(cx: Cx, inst: Inst) -> None:
    if len(inst.dst) != 1 or len(inst.src) != 2:
        return
    a, b = inst.src
    if constant64_of(a) is not None and constant64_of(b) is None:
        a, b = b, a
    vb = constant64_of(b)
    if vb == 0 and not has_flags(a):
        cx.to_copy(inst, a)
        return
    if vb is not None:
        d = cx.definition(a) if not (has_flags(a) or has_lane(a)) else None
        if d is not None and d.op is _IADD64 and len(d.src) == 2 and len(d.dst) == 1:
            inner = constant64_of(d.src[1])
            if inner is not None and not has_flags(d.src[0]) and _stable(d.src[0]):
                cx.rewrite(inst, _IADD64, [d.src[0], imm64(add(inner, vb, 64))])
                return
        if inst.src != [a, imm64(vb)]:
            cx.rewrite(inst, _IADD64, [a, imm64(vb)])
        return
    if join_pairs(cx, inst, a, b):
        return
    for x, y in ((a, b), (b, a)):
        if has_flags(x) or has_lane(x) or has_flags(y):
            continue
        # One wide multiply-add instead of two additions pays even if the product has other users.
        d = cx.definition(x)
        if d is None or not portable(d):
            continue
        if d.op.base == "IMAD" and "WIDE" in d.op.mods and "X" not in d.op.mods and d.src[2] == RZ and len(d.dst) == 1:
            cx.rewrite(inst, d.op, [d.src[0], d.src[1], y])
            return
        if d.op.base == "sext64" and not has_flags(d.src[0]):
            cx.rewrite(inst, _WIDE[True], [d.src[0], imm(1), y])
            return
        if d.op is OP_PACK and len(d.src) == 2 and constant_of(d.src[1]) == 0 and in_file(d.src[0], K_R):
            cx.rewrite(inst, _WIDE[False], [d.src[0], imm(1), y])
            return
        if cx.values.uses[vreg(x)] != 1:
            continue
        if d.op is _SHL64 and is_imm(d.src[1]) and 0 < imm_value(d.src[1]) < 32:
            _lea64(cx, inst, d.src[0], imm_value(d.src[1]), y)
            return
        if d.op is _IADD64 and len(d.src) == 2 and len(d.dst) == 1:
            inner = constant64_of(d.src[1])
            if inner is not None and not has_flags(d.src[0]) and _stable(d.src[0]):
                # Constants move outwards, where an address can take them.
                t = cx.insert("iadd64", [cx.fn.new_vreg(K_R, 2)], [d.src[0], y], inst.loc)
                _add64(cx, t)
                cx.rewrite(inst, _IADD64, [t.dst[0], imm64(inner)])
                return


def _add_words(cx: Cx, inst: Inst, x: Opnd, y: Opnd) -> None:
    """x + y with IADD3 and IADD3.X."""
    fn = cx.fn
    low, high, carry = fn.new_vreg(K_R), fn.new_vreg(K_R), fn.new_vreg(K_P)
    cx.insert("IADD3", [low, carry], [with_word_lane(x, 0), with_word_lane(y, 0), RZ], inst.loc)
    cx.insert("IADD3.X", [high], [with_word_lane(x, 1), with_word_lane(y, 1), RZ, carry, NOT_PT], inst.loc)
    cx.rewrite(inst, OP_PACK, [low, high])


def _lea64(cx: Cx, inst: Inst, x: Opnd, k: int, y: Opnd) -> None:
    """(x << k) + y with LEA and LEA.HI.X."""
    fn = cx.fn
    low, high, carry = fn.new_vreg(K_R), fn.new_vreg(K_R), fn.new_vreg(K_P)
    cx.insert("LEA", [low, carry], [with_word_lane(x, 0), with_word_lane(y, 0), imm(k)], inst.loc)
    cx.insert(
        "LEA.HI.X", [high], [with_word_lane(x, 0), with_word_lane(y, 1), with_word_lane(x, 1), imm(k), carry], inst.loc
    )
    cx.rewrite(inst, OP_PACK, [low, high])


def _pack(cx: Cx, inst: Inst) -> None:
    """The words of (x << k) + y where x became a constant: y plus a constant."""
    pack(cx, inst)
    if inst.op is not OP_PACK or len(inst.src) != 2 or cx.fn.expanded:
        return
    low, high = cx.definition(inst.src[0]), cx.definition(inst.src[1])
    if low is None or high is None or low.op is not _LEA or len(low.dst) != 2 or high.op is not _LEA_HI_X:
        return
    x, upper, k = constant_of(low.src[0]), constant_of(high.src[2]), constant_of(low.src[2])
    y = without_lane(low.src[1])
    if x is None or upper is None or k is None or not is_vreg(y) or has_flags(y) or cx.fn.width(y) != 2:
        return
    words = [with_word_lane(y, 0), with_word_lane(y, 1)]
    if high.src == [low.src[0], words[1], high.src[2], low.src[2], low.dst[1]] and low.src[1] == words[0]:
        cx.rewrite(inst, _IADD64, [y, imm64(shift_left(upper << 32 | x, k, 64))])


def _multiply64(cx: Cx, inst: Inst) -> None:
    """Products by constants: shifts for powers of two, one wide multiplication for extended words."""
    x, y = inst.src
    vx, vy = constant64_of(x), constant64_of(y)
    if vx is not None:
        x, y, vy = y, x, vx
        cx.rewrite(inst, inst.op, [x, y])
    if has_flags(x) or has_flags(y):
        return
    ex = _extended(cx, x)
    if vy is None:
        ey = _extended(cx, y)
        if ex is not None and ey is not None and ex[1] == ey[1]:
            cx.rewrite(inst, _WIDE[ex[1]], [ex[0], ey[0], RZ])
        return
    if vy == 0 or vy == 1:
        cx.to_copy(inst, x if vy else imm64(0))
        return
    if ex is not None and (vy < 1 << 31 or (ex[1] and vy >= (1 << 64) - (1 << 31))):
        cx.rewrite(inst, _WIDE[ex[1]], [ex[0], imm(vy), RZ])
    elif vy & (vy - 1) == 0:
        cx.rewrite(inst, _SHL64, [x, imm(vy.bit_length() - 1)])
        _shift64(cx, inst)


def _extended(cx: Cx, x: Opnd) -> tuple[Opnd, bool] | None:
    """(word, signed) if the 64-bit value is an extended word."""
    d = cx.definition(x) if not has_lane(x) else None
    if d is None:
        return None
    if d.op.base == "sext64" and _stable(d.src[0]) and not has_flags(d.src[0]):
        return d.src[0], True
    if d.op is OP_PACK and len(d.src) == 2 and constant_of(d.src[1]) == 0 and in_file(d.src[0], K_R):
        return (d.src[0], False) if _stable(d.src[0]) else None
    return None


def _shift64(cx: Cx, inst: Inst) -> None:
    """A sign- or zero-extended word shifted left by a constant is a wide product."""
    x, n = inst.src
    if not is_imm(n):
        return
    k = imm_value(n)
    if k == 0:
        cx.to_copy(inst, x)
        return
    if k >= 31:
        return
    extended = _extended(cx, x)
    if extended is not None:
        cx.rewrite(inst, _WIDE[extended[1]], [extended[0], imm(shift_left(1, k)), RZ])
        return
    d = cx.absorbable(x)
    if d is not None and d.op is _IADD64 and len(d.src) == 2 and len(d.dst) == 1:
        inner = constant64_of(d.src[1])
        if inner is not None and not has_flags(d.src[0]) and _stable(d.src[0]):
            # Constants move outwards, where an address can take them: the upper bits that are lost are the same.
            t = cx.insert("shl64", [cx.fn.new_vreg(K_R, 2)], [d.src[0], n], inst.loc)
            _shift64(cx, t)
            cx.rewrite(inst, _IADD64, [t.dst[0], imm64(shift_left(inner, k, 64))])


def _shift_right64(cx: Cx, inst: Inst) -> None:
    x, n = inst.src
    if is_imm(n) and imm_value(n) == 0:
        cx.to_copy(inst, x)


def shift(cx: Cx, inst: Inst) -> None:
    """SHF with constant operands."""
    name = inst.op.name
    a, n, c = inst.src
    k = constant_of(n)
    if k is None:
        return
    if name in ("SHF.L.U32",) and c == RZ:
        if k == 0:
            cx.to_copy(inst, a)
        elif k >= 32:
            cx.to_copy(inst, imm(0))
        else:
            inner = shift_left_of(cx.definition(a)) if not has_lane(a) else None
            if inner is not None and _stable(inner[0]):
                if inner[1] + k < 32:
                    cx.rewrite(inst, _SHL, [inner[0], imm(inner[1] + k), RZ])
                else:
                    cx.to_copy(inst, imm(0))
    elif name in ("SHF.R.U32.HI", "SHF.R.S32.HI") and a == RZ:
        signed = name == "SHF.R.S32.HI"
        if k == 0:
            cx.to_copy(inst, c)
        else:
            d = cx.definition(c) if not has_lane(c) else None
            if d is not None and d.op is inst.op and d.src[0] == RZ and _stable(d.src[2]):
                j = constant_of(d.src[1])
                if j is not None and (j + k < 32 or signed):
                    cx.rewrite(inst, inst.op, [RZ, imm(min(j + k, 31)), d.src[2]])


def _minmax(cx: Cx, inst: Inst) -> None:
    """Integer minimum (predicate true) or maximum of a value with itself."""
    a, b, p = inst.src[:3]
    if p not in (PT, NOT_PT) or len(inst.src) != 3 or len(inst.dst) != 1 or inst.op.has("RELU"):
        return
    if a == b:
        cx.to_copy(inst, a)


def _lea(cx: Cx, inst: Inst) -> None:
    if inst.op is not _LEA or len(inst.dst) != 1 or len(inst.src) != 3:
        return
    va, k, vb = constant_of(inst.src[0]), constant_of(inst.src[2]), constant_of(inst.src[1])
    if k is None:
        return
    if va is not None:
        cx.rewrite(inst, _IADD3, [imm(shift_left(va, k)), inst.src[1], RZ])
        _add3(cx, inst)
    elif vb == 0:
        cx.rewrite(inst, _SHL, [inst.src[0], imm(k), RZ])


def _mask(cx: Cx, inst: Inst) -> None:
    """BMSK of constants."""
    if all(constant_of(s) is not None for s in inst.src):
        values = evaluate(inst.op, inst.src)
        if values is not None:
            cx.to_copy(inst, imm(values[0]))


RULES["BMSK"] = _mask
RULES["IADD3"] = _add3
RULES["IMAD"] = _mad
RULES["iadd64"] = _add64
RULES["pack"] = _pack
RULES["imul64"] = _multiply64
RULES["shl64"] = _shift64
RULES["shr64"] = _shift_right64
RULES["SHF"] = shift
RULES["IMNMX"] = _minmax
RULES["VIMNMX"] = _minmax
RULES["LEA"] = _lea
