"""Builders for integer, logic, move and predicate instructions: each compiles a :class:`Site` to a closure.

The keys of :data:`BUILDERS` are mnemonics without the ``U`` of the uniform variants (``UIADD3`` uses ``IADD3``).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import (
    INV,
    K_P,
    NEG,
    PT,
    S_B0,
    UPT,
    Opnd,
    in_file,
    is_imm,
    is_pred,
    is_zero_reg,
    payload,
    suffix_of,
)
from orias.sim.core.site import Exec, Getter, Setter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_int as oi
from orias.sim.math.ops_int import I32, I64, U32, U64
from orias.sim.sass.exec_long import is_long, long_add, long_source

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


def _signed(s: Site) -> bool:
    return not any(s.has(x) for x in ("U32", "U64", "U16", "U8", "U16x2", "U8x4"))


def _signed_type(s: Site) -> np.dtype[Any] | None:
    """The type in which patterns are compared as signed numbers; None for unsigned comparisons."""
    return None if not _signed(s) else I64 if is_long(s) else I32


def _compared(s: Site, o: Opnd) -> Getter:
    """A source of a comparison."""
    return long_source(s, o) if is_long(s) else s.i32(o)


def iadd3(s: Site) -> Exec:
    """IADD3[.X]; without X, the carries count a negated source as complement plus one."""
    if is_long(s):
        return long_add(s)
    ext = s.has("X")
    values = [o for o in s.src if not is_pred(o)]
    carry_in = [s.pred(o) for o in s.src if is_pred(o)] if ext else []
    outs = [s.setp(p) for p in s.preds]
    put = s.result32()
    if s.has("ISAT"):
        return _saturated(s, values)
    bits = _packed(s)
    if bits:
        x, y = _negated_fields(s, values[0], bits), _negated_fields(s, values[1], bits)
        return lambda m, a: put(m, a, oi.add_fields(x(m, a), y(m, a), bits))
    if not outs and not carry_in:
        g = [s.i32(o) for o in values]
        if len(g) == 2:
            return s.into32(np.add, *g)
        a3, b3, c3 = g
        if is_zero_reg(values[2]):
            return s.into32(np.add, a3, b3)
        return s.into32(_sum3, a3, b3, c3)
    # A zero adds nothing unless it is negated: a negated zero is a complement and a carry.
    terms = [o for o in values if not is_zero_reg(o) or o & NEG]
    terms += [o for o in values if o not in terms][: 2 - len(terms)]
    raws = [s.i32(o & ~NEG) for o in terms]
    negate = [bool(o & NEG) for o in terms]

    def run(m: Machine, a: Active) -> None:
        total, carry = oi.iadd3([g(m, a) for g in raws], negate, [c(m, a) for c in carry_in])
        put(m, a, total)
        for k, out in enumerate(outs):
            out(m, a, carry > k)

    return run


def _sum3(x: Arr, y: Arr, z: Arr, out: Arr | None = None) -> Arr:
    total: Arr = np.add(x + y, z, out=out)
    return total


def _product_sum(x: Arr, y: Arr, z: Arr, out: Arr | None = None) -> Arr:
    total: Arr = np.add(x * y, z, out=out)
    return total


def _shifted_sum(x: Arr, n: Arr, y: Arr, out: Arr | None = None) -> Arr:
    total: Arr = np.add(x << n, y, out=out)
    return total


def _packed(s: Site) -> int:
    """Bits of a field of packed integers; 0 for whole words."""
    return 16 if any(s.has(x) for x in ("16x2", "S16x2", "U16x2")) else 8 if s.has("U8x4") or s.has("S8x4") else 0


def _negated_fields(s: Site, o: Opnd, bits: int) -> Getter:
    """A word; if the operand is negated, each of its fields is negated."""
    g = s.i32(o & ~NEG)
    if not o & NEG:
        return g
    return lambda m, a: oi.join_fields([-v for v in oi.fields(g(m, a), bits, False)], bits)


def _saturated(s: Site, values: list[Opnd]) -> Exec:
    """VIADD.ISAT: sums of words, halves or bytes, saturated to their type."""
    if s.preds:
        raise s.unknown("saturation")
    bits = _packed(s) or 32
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if s.op.mods[0][0] == "S" else (0, (1 << bits) - 1)
    g = [s.i32(o & ~NEG) for o in values]
    negative = [bool(o & NEG) for o in values]
    put = s.result32()

    def run(m: Machine, a: Active) -> None:
        x, y = ([v.astype(I64) for v in oi.fields(f(m, a), bits, low < 0)] for f in g)
        x, y = ([-v for v in part] if n else part for part, n in zip((x, y), negative, strict=True))
        put(m, a, oi.join_fields([np.clip(v + w, low, high) for v, w in zip(x, y, strict=True)], bits))

    return run


def clmad(s: Site) -> Exec:
    """CLMAD: half of a product without carries, exclusive or the third source."""
    x, y, z = (s.raw64(o) for o in s.src)
    upper, put = s.has("HI"), s.result64()
    return lambda m, a: put(m, a, oi.carryless(x(m, a), y(m, a), upper) ^ z(m, a))


def imad(s: Site) -> Exec:
    """IMAD with its HI, WIDE and X forms; the printed aliases (MOV, SHL, IADD) are the plain form."""
    signed = _signed(s)
    ext = s.has("X")
    values = [o for o in s.src if not is_pred(o)]
    a_o, b_o, c_o = values[0], values[1], values[2]
    ga, gb = s.i32(a_o & ~NEG), s.i32(b_o & ~NEG)
    negative = bool((a_o ^ b_o) & NEG)
    carry_in = [s.pred(o) for o in s.src if is_pred(o)] if ext else []
    outs = [s.setp(p) for p in s.preds]
    if s.has("WIDE") or s.has("HI"):
        gc = s.i64(c_o)
        wide = s.has("WIDE")
        put = s.result64() if wide else s.result32()

        if wide and not negative and not carry_in and not outs:
            return lambda m, a: put(m, a, oi.mul_wide(ga(m, a), gb(m, a), signed) + gc(m, a))

        def run_wide(m: Machine, a: Active) -> None:
            p = oi.mul_wide(ga(m, a), gb(m, a), signed)
            if negative:
                p = oi.neg(p)
            c = gc(m, a)
            t = p + c
            over = t < p
            for g in carry_in:
                u = t + g(m, a).astype(U64)
                over = over | (u < t)
                t = u
            put(m, a, t if wide else (t >> np.uint64(32)).astype(U32))
            for out in outs:
                out(m, a, over)

        return run_wide
    gc = s.i32(c_o & ~NEG) if ext else s.i32(c_o)
    put = s.result32()
    if ext or outs:
        c_negative = bool(c_o & NEG)

        def run_x(m: Machine, a: Active) -> None:
            p = ga(m, a) * gb(m, a)
            if negative:
                p = ~p
            t = p.astype(U64) + (~gc(m, a) if c_negative else gc(m, a))
            for g in carry_in:
                t = t + g(m, a).astype(U64)
            put(m, a, t.astype(U32))
            for out in outs:
                out(m, a, (t >> np.uint64(32)) != 0)

        return run_x
    if is_zero_reg(a_o) or is_zero_reg(b_o):
        return lambda m, a: put(m, a, gc(m, a))
    if negative:
        return lambda m, a: put(m, a, gc(m, a) - ga(m, a) * gb(m, a))
    if is_zero_reg(c_o):
        return s.into32(np.multiply, ga, gb)
    return s.into32(_product_sum, ga, gb, gc)


def lea(s: Site) -> Exec:
    """LEA: (a << n) + b; HI takes the upper word of the shifted {c, a}; SX32 makes c the sign of a; X adds a carry."""
    ext = s.has("X")
    values = [o for o in s.src if not is_pred(o)]
    carry_in = [s.pred(o) for o in s.src if is_pred(o)] if ext else []
    put = s.result32()
    outs = [s.setp(p) for p in s.preds]
    shift = s.i32(values[-1])
    a_o, b_o = values[0], values[1]
    ga, gb = s.i32(a_o & ~NEG), s.i32(b_o & ~NEG)
    negate_a, negate_b = bool(a_o & NEG), bool(b_o & NEG)
    hi = s.has("HI")
    sx = s.has("SX32")
    gc = s.i32(values[2]) if hi and not sx else None
    by = payload(values[-1]) if is_imm(values[-1]) else 0
    if not hi and not carry_in and not outs and not negate_a and not negate_b and 0 < by < 32:
        return s.into32(_shifted_sum, ga, shift, gb)
    # Of a word with zeros above, the upper part of the shifted pair has the bits that leave the word.
    rest = np.uint32(32 - by) if hi and not sx and not negate_a and 0 < by < 32 and is_zero_reg(values[2]) else None

    def run(m: Machine, a: Active) -> None:
        x = ga(m, a)
        n = shift(m, a) & np.uint32(31)
        if rest is not None:
            x = x >> rest
            negative = False
        elif hi:
            top = gc(m, a) if gc is not None else (x.view(I32) >> np.int32(31)).view(U32)
            v = oi.pair(x, top)
            if negate_a:
                v = oi.neg(v)
            x = (oi.shift_left64(v, n) >> np.uint64(32)).astype(U32)
            negative = False
        else:
            x = x << n
            negative = negate_a
        total, carry = oi.iadd3([x, gb(m, a)], [negative, negate_b], [c(m, a) for c in carry_in])
        put(m, a, total)
        for k, out in enumerate(outs):
            out(m, a, carry > k)

    return run


def shf(s: Site) -> Exec:
    """SHF: funnel shifts."""
    left, wrap, hi = s.has("L"), s.has("W"), s.has("HI")
    wide = s.has("U64") or s.has("S64")
    signed = s.has("S32") or s.has("S64")
    g = [s.i32(o) for o in s.src]
    put = s.result32()
    if is_imm(s.src[1]) and payload(s.src[1]) < 32 and not wide:
        # By a constant, of one word: the other one gives no bits.
        if left and not hi:
            return s.into32(np.left_shift, g[0], g[1])
        if hi and not left and is_zero_reg(s.src[0]) and not signed:
            return s.into32(np.right_shift, g[2], g[1])
    if left and not hi:
        gl, gn = g[0], g[1]

        def run_left(m: Machine, a: Active) -> None:
            n = gn(m, a)
            if wrap:
                put(
                    m,
                    a,
                    gl(m, a) << (n & np.uint32(31))
                    if not wide
                    else oi.funnel(gl(m, a), n, g[2](m, a), True, True, wide, False, False),
                )
            else:
                put(m, a, np.where(n < 32, gl(m, a) << (n & np.uint32(31)), np.uint32(0)))

        return run_left
    if hi and not left and is_zero_reg(s.src[0]) and not wrap and not wide:
        gh, gs = g[2], g[1]
        if signed:
            return lambda m, a: put(
                m, a, (gh(m, a).view(I32) >> np.minimum(gs(m, a), np.uint32(31)).view(I32)).view(U32)
            )

        def run_right(m: Machine, a: Active) -> None:
            n = gs(m, a)
            put(m, a, np.where(n < 32, gh(m, a) >> (n & np.uint32(31)), np.uint32(0)))

        return run_right
    low, amount, high = g
    return lambda m, a: put(m, a, oi.funnel(low(m, a), amount(m, a), high(m, a), left, wrap, wide, signed, hi))


_OF_TWO: Final[dict[int, np.ufunc]] = {0xC0: np.bitwise_and, 0xFC: np.bitwise_or, 0x3C: np.bitwise_xor}
"""Tables of functions of the first two sources."""


def lop3(s: Site) -> Exec:
    """LOP3.LUT; the predicate result is (result != 0) combined with the last source."""
    g = [s.i32(o) for o in s.src[:3]]
    table = payload(s.src[3])
    put = s.set32(s.regs[0]) if s.regs and not (s.preds and is_zero_reg(s.regs[0])) else None
    ga, gb, gc = g
    if not s.preds:
        assert put is not None
        result = put
        two = _OF_TWO.get(table)
        if two is not None:
            return s.into32(two, ga, gb)
        return lambda m, a: result(m, a, oi.lop3(ga(m, a), gb(m, a), gc(m, a), table))
    out = s.setp(s.preds[0])
    extra = s.pred(s.src[4])
    conjunction = s.has("PAND")
    if put is None and payload(s.src[4]) == 7 and is_pred(s.src[4]) and conjunction == (not s.src[4] & INV):
        # The last source says nothing.
        return lambda m, a: out(m, a, oi.lop3(ga(m, a), gb(m, a), gc(m, a), table) != 0)

    def run(m: Machine, a: Active) -> None:
        r = oi.lop3(ga(m, a), gb(m, a), gc(m, a), table)
        e = extra(m, a)
        p = (r != 0) & e if conjunction else (r != 0) | e
        if put is not None:
            put(m, a, r)
        out(m, a, p)

    return run


def plop3(s: Site) -> Exec:
    """PLOP3.LUT: two functions of three predicates."""
    g = [s.pred(o) for o in s.src[:3]]
    tables = [payload(o) for o in s.src[3:]]
    outs = [s.setp(p) for p in s.preds]

    def run(m: Machine, a: Active) -> None:
        x, y, z = np.broadcast_arrays(g[0](m, a), g[1](m, a), g[2](m, a))
        results = [oi.plop3(x, y, z, t) for t in tables]
        for out, r in zip(outs, results, strict=False):
            out(m, a, r)

    return run


def _move(s: Site) -> tuple[Callable[[Opnd], Getter], Setter]:
    """The getter of operands and the setter of the result of a move; immediates of 64-bit moves have 64 bits."""
    return (s.i64, s.result64()) if is_long(s) else (s.i32, s.result32())


def mov(s: Site) -> Exec:
    """MOV, UMOV; a mask of four bits after the source selects the lanes of each quad that receive the value."""
    get, put = _move(s)
    g = get(s.src[0])
    lanes = payload(s.src[1]) if len(s.src) > 1 else 15
    if lanes == 15:
        return lambda m, a: put(m, a, g(m, a))
    old = get(s.regs[0])

    def run(m: Machine, a: Active) -> None:
        takes = np.uint32(lanes) >> (a.index & 3).astype(U32) & np.uint32(1)
        put(m, a, np.where(takes != 0, g(m, a), old(m, a)))

    return run


def sel(s: Site) -> Exec:
    """SEL."""
    get, put = _move(s)
    x, y, p = get(s.src[0]), get(s.src[1]), s.pred(s.src[2])
    return lambda m, a: put(m, a, np.where(p(m, a), x(m, a), y(m, a)))


_PRMT_MODES: Final = ("F4E", "B4E", "RC8", "ECL", "ECR", "RC16")


def prmt(s: Site) -> Exec:
    """PRMT a, selector, b."""
    mode = next((x for x in _PRMT_MODES if s.has(x)), "")
    x, n, y, put = s.i32(s.src[0]), s.i32(s.src[1]), s.i32(s.src[2]), s.result32()
    return lambda m, a: put(m, a, oi.prmt(x(m, a), n(m, a), y(m, a), mode))


_COMPARISONS: Final[dict[str, np.ufunc]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip


def _plain_isetp(s: Site, f: np.ufunc, x: Getter, y: Getter, signed_type: np.dtype[Any] | None) -> Exec:
    """A comparison that is the result as it is."""
    o = s.preds[0]
    put, p = s.setp(o), payload(o)
    into = in_file(o, K_P) and p != 7

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a), y(m, a)
        if signed_type is not None:
            v, w = v.view(signed_type), w.view(signed_type)
        sel = a.sel
        if into and a.lanes is None and isinstance(sel, slice):
            f(v, w, out=m.P[p][sel])
        else:
            put(m, a, f(v, w))

    return run


def isetp(s: Site) -> Exec:
    """ISETP: compare, combine with a predicate; EX continues the comparison of a lower word."""
    signed_type = _signed_type(s)
    cmp = s.op.mods[0]
    logic = next(x for x in s.op.mods if x in ("AND", "OR", "XOR"))
    x, y, p = _compared(s, s.src[0]), _compared(s, s.src[1]), s.pred(s.src[2])
    low = s.pred(s.src[3]) if s.has("EX") else None
    first = s.setp(s.preds[0])
    second = s.setp(s.preds[1]) if payload(s.preds[1]) != 7 else None
    plain = _COMPARISONS.get(cmp)
    if plain is not None and low is None and second is None and logic == "AND" and s.src[2] in (PT, UPT):
        return _plain_isetp(s, plain, x, y, signed_type)

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a), y(m, a)
        if signed_type is not None:
            v, w = v.view(signed_type), w.view(signed_type)
        r = oi.compare(cmp, v, w)
        if low is not None:
            r = np.where(v == w, low(m, a), r)
        q = p(m, a)
        if second is not None:
            other = oi.combine(logic, ~r, q)
            first(m, a, oi.combine(logic, r, q))
            second(m, a, other)
        else:
            first(m, a, oi.combine(logic, r, q))

    return run


def _unary(f: Callable[[Arr], Arr]) -> Builder:
    def build(s: Site) -> Exec:
        g, put = s.i32(s.src[-1]), s.result32()
        return lambda m, a: put(m, a, f(g(m, a)))

    return build


def flo(s: Site) -> Exec:
    """FLO; the optional predicate result is true if a bit was found."""
    signed, sh = _signed(s), s.has("SH")
    g, put = s.i32(s.src[0]), s.result32()
    outs = [s.setp(p) for p in s.preds]

    def run(m: Machine, a: Active) -> None:
        r = oi.flo(g(m, a), signed, sh)
        put(m, a, r)
        for out in outs:
            out(m, a, r != np.uint32(0xFFFFFFFF))

    return run


def minmax(s: Site) -> Exec:
    """IMNMX, VIMNMX, VIMNMX3, VIADDMNMX (the first two sources are added), also on packed fields; RELU clamps at zero."""
    bits = _packed(s)
    signed_type = _signed_type(s)
    values = [o for o in s.src if not is_pred(o)]
    take_min = s.pred(next(o for o in s.src if is_pred(o)))
    g = [_compared(s, o) for o in values]
    put = s.result64() if is_long(s) else s.result32()
    relu = s.has("RELU")
    added = s.op.base == "VIADDMNMX"
    if any(payload(p) != 7 for p in s.preds):
        raise s.unknown("predicate results")

    def run(m: Machine, a: Active) -> None:
        v = [x(m, a) for x in g]
        p = take_min(m, a)
        if added:
            v = [oi.add_fields(v[0], v[1], bits) if bits else v[0] + v[1], v[2]]
        if bits:
            r = oi.minmax_fields(v[0], v[1], p, bits, signed_type is not None)
            if len(v) == 3:
                r = oi.minmax_fields(r, v[2], p, bits, signed_type is not None)
            if relu:
                r = oi.minmax_fields(r, np.zeros(1, U32), np.zeros(1, np.bool_), bits, True)
        else:
            r = oi.minmax(v[0], v[1], p, signed_type)
            if len(v) == 3:
                r = oi.minmax(r, v[2], p, signed_type)
            if relu:
                r = np.maximum(r.view(I32), np.int32(0)).view(U32)
        put(m, a, r)

    return run


def bmsk(s: Site) -> Exec:
    """BMSK."""
    x, y, put, wrap = s.i32(s.src[0]), s.i32(s.src[1]), s.result32(), s.has("W")
    return lambda m, a: put(m, a, oi.bmsk(x(m, a), y(m, a), wrap))


def sgxt(s: Site) -> Exec:
    """SGXT."""
    x, y, put, wrap, signed = s.i32(s.src[0]), s.i32(s.src[1]), s.result32(), s.has("W"), _signed(s)
    return lambda m, a: put(m, a, oi.sgxt(x(m, a), y(m, a), signed, wrap))


def idp(s: Site) -> Exec:
    """IDP.4A and IDP.2A; the two type modifiers belong to the first and second source."""
    types = [x for x in s.op.mods if x in ("U8", "S8", "U16", "S16")]
    a_signed = types[0].startswith("S") if types else True
    b_signed = types[1].startswith("S") if len(types) > 1 else a_signed
    g = [s.i32(o) for o in s.src]
    put = s.result32()
    if s.has("4A"):
        return lambda m, a: put(m, a, oi.idp4(g[0](m, a), g[1](m, a), g[2](m, a), a_signed, b_signed))
    high = s.has("HI")
    return lambda m, a: put(m, a, oi.idp2(g[0](m, a), g[1](m, a), g[2](m, a), a_signed, b_signed, high))


def vabsdiff(s: Site) -> Exec:
    """VABSDIFF: |a - b| + c."""
    signed = _signed(s)
    g, put = [s.i32(o) for o in s.src], s.result32()
    return lambda m, a: put(m, a, oi.absdiff(g[0](m, a), g[1](m, a), signed) + g[2](m, a))


def vabsdiff4(s: Site) -> Exec:
    """VABSDIFF4."""
    signed = not s.has("U8")
    acc = s.has("ACC")
    g, put = [s.i32(o) for o in s.src], s.result32()
    return lambda m, a: put(m, a, oi.absdiff4(g[0](m, a), g[1](m, a), g[2](m, a), signed, acc))


def p2r(s: Site) -> Exec:
    """P2R: the predicates under the mask into a byte of a word; the other bits come from the register source."""
    base = s.i32(s.src[1])
    mask_g = s.i32(s.src[2])
    put = s.result32()
    file = s.uniform
    shift = np.uint32(8 * (suffix_of(s.regs[0]) - S_B0)) if suffix_of(s.regs[0]) >= S_B0 else np.uint32(0)
    if suffix_of(s.src[1]) >= S_B0:
        shift = np.uint32(8 * (suffix_of(s.src[1]) - S_B0))

    def run(m: Machine, a: Active) -> None:
        bits = np.zeros(1, U32)
        for k in range(7):
            row = m.UP[k][a.warps] if file else m.P[k][a.sel]
            bits = bits | (row.astype(U32) << np.uint32(k))
        mask = mask_g(m, a)
        put(m, a, (base(m, a) & ~(mask << shift)) | ((bits & mask) << shift))

    return run


def r2p(s: Site) -> Exec:
    """R2P: bits of a byte of the register into the predicates under the mask (UR2UP without a mask: all)."""
    source = s.part(s.src[0], 8) if suffix_of(s.src[0]) >= S_B0 else s.i32(s.src[0])
    mask = payload(s.src[1]) if len(s.src) > 1 else 0x7F
    file = s.uniform

    def run(m: Machine, a: Active) -> None:
        v = source(m, a)
        for k in range(7):
            if mask >> k & 1:
                bit = (v >> np.uint32(k) & np.uint32(1)) != 0
                if file:
                    m.UP[k][a.warps] = bit
                else:
                    m.P[k][a.sel] = bit

    return run


def up2ur(s: Site) -> Exec:
    """UP2UR, UR2UP: the uniform variants of P2R and R2P."""
    return p2r(s) if s.op.base == "UP2UR" else r2p(s)


def i2i(s: Site) -> Exec:
    """I2I: saturating conversion to a narrower integer."""
    types = [x for x in s.op.mods if x[0] in "US" and x[1:].isdigit()]
    target = types[0]
    source_signed = len(types) < 2 or types[1][0] == "S"
    bits = int(target[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if target[0] == "S" else (0, (1 << bits) - 1)
    g, put = s.i32(s.src[0]), s.result32()

    def run(m: Machine, a: Active) -> None:
        v = g(m, a)
        wide = v.view(I32).astype(I64) if source_signed else v.astype(I64)
        put(m, a, np.clip(wide, low, high).astype(U32))

    return run


def i2ip(s: Site) -> Exec:
    """I2IP: two saturated words, and above them the shifted third source."""
    types = [x for x in s.op.mods if x[0] in "US" and x[1:].isdigit()]
    bits = int(types[0][1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if types[0][0] == "S" else (0, (1 << bits) - 1)
    g, put = [s.i32(o) for o in s.src], s.result32()
    mask = np.uint32((1 << bits) - 1)

    def run(m: Machine, a: Active) -> None:
        x = np.clip(g[0](m, a).view(I32).astype(I64), low, high).astype(U32) & mask
        y = np.clip(g[1](m, a).view(I32).astype(I64), low, high).astype(U32) & mask
        rest = g[2](m, a) << np.uint32(2 * bits) if 2 * bits < 32 else np.zeros(1, U32)
        put(m, a, rest | (x << np.uint32(bits)) | y)

    return run


def nop(s: Site) -> Exec:
    """An instruction without effect on the state of the simulator."""
    return lambda m, a: None


BUILDERS: Final[dict[str, Builder]] = {
    "IADD3": iadd3, "IADD": iadd3, "VIADD": iadd3, "IMAD": imad, "CLMAD": clmad, "LEA": lea, "SHF": shf, "LOP3": lop3, "PLOP3": plop3,
    "MOV": mov, "SEL": sel, "PRMT": prmt, "ISETP": isetp, "POPC": _unary(oi.popc), "BREV": _unary(oi.brev),
    "IABS": _unary(oi.iabs), "FLO": flo, "IMNMX": minmax, "VIMNMX": minmax, "VIADDMNMX": minmax, "VIMNMX3": minmax, "BMSK": bmsk,
    "SGXT": sgxt, "IDP": idp, "VABSDIFF": vabsdiff, "VABSDIFF4": vabsdiff4, "P2R": p2r, "R2P": r2p, "I2I": i2i,
    "I2IP": i2ip, "NOP": nop, "UP2UR": up2ur, "UR2UP": up2ur,
}  # fmt: skip
