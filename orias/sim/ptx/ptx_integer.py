"""Builders: integer arithmetic, logic, shifts, bit fields, comparison and selection."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_PAIR, Operand
from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_float as of
from orias.sim.math import ops_half as half
from orias.sim.math import ops_int as oi
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I32, I64, U16, U32, U64
from orias.sim.ptx.machine import ptx
from orias.sim.ptx.ptx_site import SIGNED, UNSIGNED, PtxSite, bits_of, is_signed, signed_view

Arr = npt.NDArray[Any]
Builder = Callable[[PtxSite], Exec]


def type_of(s: PtxSite) -> str:
    """The last type of the instruction."""
    return s.types[-1]


def mul_hi(x: Arr, y: Arr, signed: bool) -> Arr:
    """The upper half of the product."""
    bits = x.dtype.itemsize * 8
    if bits < 64:
        result: Arr = (wide(x, y, signed) >> UNSIGNED[2 * bits].type(bits)).astype(UNSIGNED[bits])
        return result
    m, k = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = x & m, x >> k, y & m, y >> k
    mid = ah * bl + (al * bl >> k)
    mid2 = al * bh + (mid & m)
    high: Arr = ah * bh + (mid >> k) + (mid2 >> k)
    if signed:
        top = np.uint64(63)
        high = high - np.where(x >> top != 0, y, np.uint64(0)) - np.where(y >> top != 0, x, np.uint64(0))
    return high


def wide(x: Arr, y: Arr, signed: bool) -> Arr:
    """The full product, twice as wide as the operands."""
    double = 2 * x.dtype.itemsize * 8
    if signed:
        x, y = signed_view(x), signed_view(y)
    product: Arr = x.astype(SIGNED[double] if signed else UNSIGNED[double]) * y
    return product.view(UNSIGNED[double])


def _clamp32(total: Arr) -> Arr:
    """int64 values saturated to s32."""
    return np.clip(total, -(1 << 31), (1 << 31) - 1).astype(I32).view(U32)


def add_carry(x: Arr, y: Arr, carry: Arr) -> tuple[Arr, Arr]:
    """Sum and carry out; the carry in is 0 or 1."""
    total = x + y
    out = total < x
    total2 = total + carry.astype(x.dtype)
    return total2, out | (total2 < total)


def _field_bits(t: str) -> int:
    """Bits of a field of a packed type; 0 for other types."""
    return {"x2": 16, "x4": 8}.get(t[-2:], 0)


def _add_fields(s: PtxSite, bits: int, signed: bool, subtract: bool) -> Exec:
    """Sums or differences of fields, modulo their size or saturated."""
    sat = s.has("sat")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def f(x: Arr, y: Arr) -> Arr:
        both = zip(oi.fields(x, bits, signed), oi.fields(y, bits, signed), strict=True)
        values = [v - w if subtract else v + w for v, w in both]
        return oi.join_fields([np.clip(v, low, high) for v in values] if sat else values, bits)

    return s.each(f, ["b32", "b32"], "b32")


def _add(s: PtxSite) -> Exec:
    t = type_of(s)
    x, y, put = s.src(s.ops[1], t), s.src(s.ops[2], t), s.dst(s.ops[0], t)
    subtract = s.name in ("sub", "subc")
    bits = _field_bits(t)
    if s.has("sat") or bits == 8:
        return _add_fields(s, bits or 32, is_signed(t), subtract)
    if bits:
        return lambda m, a: put(m, a, oi.add_fields(x(m, a), y(m, a), bits))
    if s.name in ("addc", "subc") or s.has("cc"):
        return _chain(s, x, y, subtract)
    if subtract:
        return lambda m, a: put(m, a, x(m, a) - y(m, a))
    return lambda m, a: put(m, a, x(m, a) + y(m, a))


def _chain(s: PtxSite, x: Getter, y: Getter, subtract: bool) -> Exec:
    """Addition and subtraction with a carry.  A subtraction adds the complement: CC means "no borrow", as in ptxas."""
    put = s.dst(s.ops[0], type_of(s))
    takes, gives = s.name.endswith("c"), s.has("cc")
    first = np.full(1, subtract)

    def run(m: Machine, a: Active) -> None:
        cc = ptx(m).cc
        v, w = x(m, a), y(m, a)
        total, out = add_carry(v, ~w if subtract else w, cc[a.sel] if takes else first)
        put(m, a, total)
        if gives:
            cc[a.sel] = out

    return run


def _mul(s: PtxSite) -> Exec:
    t, size = type_of(s), s.mods["mulsize"]
    sign = is_signed(t)
    if size == "wide":
        return s.each(lambda x, y: wide(x, y, sign), [t, t], f"{t[0]}{2 * bits_of(t)}")
    if size == "hi":
        return s.each(lambda x, y: mul_hi(x, y, sign), [t, t], t)
    return s.each(lambda x, y: x * y, [t, t], t)


def _mad(s: PtxSite) -> Exec:
    t, size = type_of(s), s.mods["mulsize"]
    sign = is_signed(t)
    if size == "wide":
        double = f"{t[0]}{2 * bits_of(t)}"
        return s.each(lambda x, y, z: wide(x, y, sign) + z, [t, t, double], double)
    product: Callable[[Arr, Arr], Arr] = (lambda x, y: mul_hi(x, y, sign)) if size == "hi" else (lambda x, y: x * y)
    if s.has("sat"):

        def saturated(x: Arr, y: Arr, z: Arr) -> Arr:
            return _clamp32(product(x, y).view(I32).astype(I64) + z.view(I32).astype(I64))

        return s.each(saturated, [t, t, t], t)
    if s.name == "madc" or s.has("cc"):
        x, y, z = (s.src(o, t) for o in s.ops[1:4])
        return _chain(s, lambda m, a: product(x(m, a), y(m, a)), z, False)
    return s.each(lambda x, y, z: product(x, y) + z, [t, t, t], t)


def _mul24(s: PtxSite) -> Exec:
    t = type_of(s)
    sign, high, sat = is_signed(t), s.mods["mulsize"] == "hi", s.has("sat")
    eight = np.uint32(8)

    def product(x: Arr, y: Arr) -> Arr:
        if sign:
            v = ((x << eight).view(I32) >> np.int32(8)).astype(I64) * ((y << eight).view(I32) >> np.int32(8)).astype(
                I64
            )
        else:
            v = (x & np.uint32(0xFFFFFF)).astype(I64) * (y & np.uint32(0xFFFFFF)).astype(I64)
        return (v >> np.int64(16) if high else v).astype(U64).astype(U32)

    if s.name == "mul24":
        return s.each(product, [t, t], t)
    if sat:
        return s.each(
            lambda x, y, z: _clamp32(product(x, y).view(I32).astype(I64) + z.view(I32).astype(I64)), [t, t, t], t
        )
    return s.each(lambda x, y, z: product(x, y) + z, [t, t, t], t)


def _sad(s: PtxSite) -> Exec:
    t = type_of(s)

    def f(x: Arr, y: Arr, z: Arr) -> Arr:
        v, w = (signed_view(x), signed_view(y)) if is_signed(t) else (x, y)
        return np.where(v > w, x - y, y - x) + z

    return s.each(f, [t, t, t], t)


def _divide(s: PtxSite) -> Exec:
    """div and rem of integers; division by zero is undefined."""
    t = type_of(s)
    x, y, put = s.src(s.ops[1], t), s.src(s.ops[2], t), s.dst(s.ops[0], t)
    rest, sign = s.name == "rem", is_signed(t)

    def run(m: Machine, a: Active) -> None:
        v, w = np.broadcast_arrays(x(m, a), y(m, a))
        zero = w == 0
        safe = np.where(zero, w.dtype.type(1), w)
        if sign:
            mv, mw = np.where(signed_view(v) < 0, oi.neg(v), v), np.where(signed_view(safe) < 0, oi.neg(safe), safe)
            q = mv // mw
            q = np.where((signed_view(v) < 0) != (signed_view(safe) < 0), oi.neg(q), q)
        else:
            q = v // safe
        r = v - q * safe if rest else q
        open_ = w.dtype.type(0) if ptx(m).choice.other else ~w.dtype.type(0)
        put(m, a, np.where(zero, open_, r))

    return run


def _minmax(s: PtxSite) -> Exec:
    t = type_of(s)
    low = s.name == "min"
    relu = s.has("relu")
    bits = _field_bits(t)
    if bits:
        take = np.full(1, low)
        zero = np.zeros(1, U32)

        def packed(x: Arr, y: Arr) -> Arr:
            r = oi.minmax_fields(x, y, take, bits, is_signed(t))
            return oi.minmax_fields(r, zero, np.zeros(1, np.bool_), bits, True) if relu else r

        return s.each(packed, [t, t], t)

    def f(x: Arr, y: Arr) -> Arr:
        v, w = (signed_view(x), signed_view(y)) if is_signed(t) else (x, y)
        r = np.minimum(v, w) if low else np.maximum(v, w)
        if relu:
            r = np.maximum(r, r.dtype.type(0))
        return r.view(x.dtype)

    return s.each(f, [t, t], t)


def _popc(v: Arr) -> Arr:
    if v.dtype == U64:
        low, high = oi.words(v)
        return oi.popc(low) + oi.popc(high)
    return oi.popc(v)


def _bfind(s: PtxSite) -> Exec:
    t, shift = type_of(s), s.has("shiftamt")

    def f(v: Arr) -> Arr:
        if v.dtype == U32:
            return oi.flo(v, is_signed(t), shift)
        if is_signed(t):
            v = np.where(v.view(I64) < 0, ~v, v)
        low, high = oi.words(v)
        h, k = oi.flo(high, False, False), oi.flo(low, False, False)
        position = np.where(high != 0, h + np.uint32(32), k)
        return np.where(v != 0, np.uint32(63) - position if shift else position, np.uint32(0xFFFFFFFF))

    return s.each(f, [t], "u32")


def _clz(v: Arr) -> Arr:
    bits = v.dtype.itemsize * 8
    low, high = oi.words(v) if bits == 64 else (v, np.zeros(1, U32))
    position = np.where(high != 0, oi.flo(high, False, False) + np.uint32(32), oi.flo(low, False, False))
    return np.uint32(bits - 1) - position


def _brev(v: Arr) -> Arr:
    if v.dtype == U64:
        low, high = oi.words(v)
        return oi.pair(oi.brev(high), oi.brev(low))
    return oi.brev(v)


def _field_operand(s: PtxSite, o: Operand) -> Getter:
    """A position or length; values above 255 are undefined."""
    g = s.src(o, "u32")

    def get(m: Machine, a: Active) -> Arr:
        v = g(m, a)
        return np.minimum(v, np.uint32(255)) if ptx(m).choice.other else v & np.uint32(255)

    return get


def _fielded(s: PtxSite, f: Callable[..., Arr]) -> Exec:
    """bfe and bfi: the last two operands are a position and a length."""
    t = type_of(s)
    gets = [s.src(o, t) for o in s.ops[1:-2]] + [_field_operand(s, o) for o in s.ops[-2:]]
    put = s.dst(s.ops[0], t)
    return lambda m, a: put(m, a, f(*[g(m, a) for g in gets]))


def _bfe(s: PtxSite) -> Exec:
    t = type_of(s)
    bits, sign = bits_of(t), is_signed(t)

    def f(v: Arr, pos: Arr, length: Arr) -> Arr:
        u = v.dtype
        b, n = pos.astype(u), length.astype(u)
        top = u.type(bits - 1)
        if sign:
            x = (signed_view(v) >> signed_view(np.minimum(b, top))).view(u)
        else:
            x = np.where(b <= top, v >> np.minimum(b, top), u.type(0))
        k = np.where((n == 0) | (n > top), u.type(0), u.type(bits) - n)
        x = (signed_view(x << k) >> signed_view(k)).view(u) if sign else (x << k) >> k
        return np.where(n == 0, u.type(0), x)

    return _fielded(s, f)


def _bfi(s: PtxSite) -> Exec:
    t = type_of(s)
    bits = bits_of(t)

    def f(v: Arr, onto: Arr, pos: Arr, length: Arr) -> Arr:
        u = v.dtype
        b, n = pos.astype(u), length.astype(u)
        ones = np.where(n >= u.type(bits), ~u.type(0), (u.type(1) << np.minimum(n, u.type(bits - 1))) - u.type(1))
        inside = b < u.type(bits)
        k = np.minimum(b, u.type(bits - 1))
        mask = np.where(inside, ones << k, u.type(0))
        result: Arr = (onto & ~mask) | ((v << k) & mask)
        return result

    return _fielded(s, f)


def _fns(mask: Arr, base: Arr, offset: Arr) -> Arr:
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    out = np.full(mask.shape, 0xFFFFFFFF, U32)
    for i in range(len(out)):
        v, b, o = int(mask[i]), int(base[i]), int(offset[i].view(np.int32))
        step = -1 if o < 0 else 1
        left = abs(o) - 1
        if o == 0:
            if b < 32 and v >> b & 1:
                out[i] = b
            continue
        at = b
        while 0 <= at < 32:
            if v >> at & 1:
                if left == 0:
                    out[i] = at
                    break
                left -= 1
            at += step
    return out


def _shift(s: PtxSite) -> Exec:
    t = type_of(s)
    bits, sign, left = bits_of(t), is_signed(t), s.name == "shl"

    def f(v: Arr, n: Arr) -> Arr:
        u = v.dtype
        k = np.minimum(n, np.uint32(bits - 1)).astype(u)
        if sign and not left:
            return (signed_view(v) >> signed_view(k)).view(u)
        result: Arr = np.where(n < bits, v << k if left else v >> k, u.type(0))
        return result

    return s.each(f, [t, "u32"], t)


def _shf(s: PtxSite) -> Exec:
    left, wrap = s.mods["dir"] == "l", s.mods["wrap"] == "wrap"
    return s.each(
        lambda low, high, n: oi.funnel(low, n, high, left, wrap, False, False, left), ["b32", "b32", "u32"], "b32"
    )


def _lop3(s: PtxSite) -> Exec:
    dst, out = s.ops[0], None
    if dst.kind == O_PAIR:
        dst, out = dst.elems
    x, y, z = (s.src(o, "b32") for o in s.ops[1:4])
    table = s.ops[4].value & 0xFF
    put = s.dst(dst, "b32")
    if out is None:
        return lambda m, a: put(m, a, oi.lop3(x(m, a), y(m, a), z(m, a), table))
    setp, q = s.setp(out), s.pred(s.ops[5])
    both = s.mods.get("bool") == "and"

    def run(m: Machine, a: Active) -> None:
        v, e = oi.lop3(x(m, a), y(m, a), z(m, a), table), q(m, a)
        put(m, a, v)
        setp(m, a, (v != 0) & e if both else (v != 0) | e)

    return run


def _prmt(s: PtxSite) -> Exec:
    mode = s.mods.get("mode", "").upper()
    return s.each(lambda x, y, n: oi.prmt(x, n, y, mode), ["b32", "b32", "b32"], "b32")


def _logic(s: PtxSite) -> Exec:
    t = type_of(s)
    f: dict[str, Callable[[Arr, Arr], Arr]] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return s.each(f[s.name], [t, t], t)


def _dot(s: PtxSite) -> Exec:
    sa, sb = (is_signed(t) for t in s.types)
    if s.name == "dp4a":
        return s.each(lambda x, y, z: oi.idp4(x, y, z, sa, sb), ["b32", "b32", "b32"], "u32")
    high = s.mods["mulsize"] == "hi"
    return s.each(lambda x, y, z: oi.idp2(x, y, z, sa, sb, high), ["b32", "b32", "b32"], "u32")


# -- comparison

_ORDER: Final[dict[str, str]] = {
    "eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE", "lo": "LT", "ls": "LE", "hi": "GT", "hs": "GE",
}  # fmt: skip


def floating(t: str) -> bool:
    """True for the float types."""
    return t[0] == "f" or t.startswith("bf")


def float_values(v: Arr, t: str, ftz: bool) -> Arr:
    """Patterns of a float type as f64 values."""
    if t == "f32":
        return (sf.ftz32(v) if ftz else v).view(of.F32)
    if t == "f64":
        return v.view(of.F64)
    x = half.value(v, t.startswith("b"))
    return half.flush(x, t.startswith("b")) if ftz else x


def comparison(s: PtxSite, t: str) -> Callable[[Arr, Arr], Arr]:
    """The comparison of two arrays of patterns of a (scalar) type."""
    cmp = s.mods["cmp"]
    if floating(t):
        ftz, name = s.has("ftz"), cmp.upper()
        return lambda v, w: of.compare(name, float_values(v, t, ftz), float_values(w, t, ftz))
    name = _ORDER[cmp]
    if is_signed(t):
        return lambda v, w: oi.compare(name, signed_view(v), signed_view(w))
    return lambda v, w: oi.compare(name, v, w)


def _lanes(v: Arr) -> tuple[Arr, Arr]:
    return (v & np.uint32(0xFFFF)).astype(U16), (v >> np.uint32(16)).astype(U16)


def _combined(s: PtxSite, at: int) -> tuple[str, Getter | None]:
    if s.has("bool"):
        return s.mods["bool"].upper(), s.pred(s.ops[at])
    return "", None


def _setp(s: PtxSite) -> Exec:
    t = type_of(s)
    dst = s.ops[0].elems if s.ops[0].kind == O_PAIR else [s.ops[0]]
    x, y = s.src(s.ops[1], t), s.src(s.ops[2], t)
    logic, q = _combined(s, 3)
    puts = [s.setp(o) for o in dst]
    packed = t.endswith("x2")
    f = comparison(s, t.removesuffix("x2"))

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a), y(m, a)
        if packed:
            r = [f(i, j) for i, j in zip(_lanes(v), _lanes(w), strict=True)]
        else:
            first = f(v, w)
            r = [first, ~first]
        if q is not None:
            e = q(m, a)
            r = [oi.combine(logic, b, e) for b in r]
        for put, b in zip(puts, r, strict=False):
            put(m, a, b)

    return run


def _set(s: PtxSite) -> Exec:
    d, t = s.types
    x, y = s.src(s.ops[1], t), s.src(s.ops[2], t)
    logic, q = _combined(s, 3)
    put = s.dst(s.ops[0], d)
    packed = t.endswith("x2")
    f = comparison(s, t.removesuffix("x2"))
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    one = ones.get(d, (1 << (16 if packed else bits_of(d))) - 1)
    u = UNSIGNED[bits_of(d)]

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a), y(m, a)
        pairs = list(zip(_lanes(v), _lanes(w), strict=True)) if packed else [(v, w)]
        parts = []
        for i, j in pairs:
            b = f(i, j)
            parts.append(oi.combine(logic, b, q(m, a)) if q is not None else b)
        r = np.where(parts[0], u.type(one), u.type(0))
        if packed:
            r = r | np.where(parts[1], u.type(one << 16), u.type(0))
        put(m, a, r)

    return run


def _slct(s: PtxSite) -> Exec:
    d, t = s.types
    x, y, z, put = s.src(s.ops[1], d), s.src(s.ops[2], d), s.src(s.ops[3], t), s.dst(s.ops[0], d)
    if t == "f32":
        ftz = s.has("ftz")
        return lambda m, a: put(m, a, np.where(float_values(z(m, a), t, ftz) >= 0, x(m, a), y(m, a)))
    if t == "s32":
        return lambda m, a: put(m, a, np.where(z(m, a).view(I32) >= 0, x(m, a), y(m, a)))
    return lambda m, a: put(m, a, x(m, a))


def _selp(s: PtxSite) -> Exec:
    t = type_of(s)
    x, y, q, put = s.src(s.ops[1], t), s.src(s.ops[2], t), s.pred(s.ops[3]), s.dst(s.ops[0], t)
    return lambda m, a: put(m, a, np.where(q(m, a), x(m, a), y(m, a)))


def _unary(f: Callable[[Arr], Arr], result: str = "") -> Builder:
    return lambda s: s.each(f, [type_of(s)], result or type_of(s))


def _negate(v: Arr) -> Arr:
    return oi.neg(v)


def _negated(s: PtxSite) -> Exec:
    """neg of an integer, or of the bytes of a word."""
    if type_of(s) != "s8x4":
        return _unary(_negate)(s)
    return s.each(lambda v: oi.join_fields([-x for x in oi.fields(v, 8, True)], 8), ["b32"], "b32")


def _clmad(s: PtxSite) -> Exec:
    upper = s.name.endswith("hi") or s.mods.get("mulsize") == "hi"
    return s.each(lambda x, y, z: oi.carryless(x, y, upper) ^ z, ["b64", "b64", "b64"], "b64")


def _absolute(v: Arr) -> Arr:
    return np.where(signed_view(v) < 0, oi.neg(v), v)


def _cnot(v: Arr) -> Arr:
    result: Arr = (v == 0).astype(v.dtype)
    return result


def _szext(s: PtxSite) -> Exec:
    t, wrap = type_of(s), s.mods["wrap"] == "wrap"
    return s.each(lambda v, n: oi.sgxt(v, n, is_signed(t), wrap), [t, "u32"], t)


def _bmsk(s: PtxSite) -> Exec:
    wrap = s.mods["wrap"] == "wrap"
    return s.each(lambda n, w: oi.bmsk(n, w, wrap), ["u32", "u32"], "b32")


INTEGER: Final[dict[str, Builder]] = {
    "add": _add, "sub": _add, "addc": _add, "subc": _add, "mul": _mul, "mul.lo": _mul, "mul.hi": _mul, "mul.wide": _mul,
    "mad": _mad, "mad.lo": _mad, "mad.hi": _mad, "mad.wide": _mad, "madc": _mad, "madc.lo": _mad, "madc.hi": _mad,
    "mul24": _mul24, "mad24": _mul24, "sad": _sad, "div": _divide, "rem": _divide, "abs": _unary(_absolute),
    "neg": _negated, "clmad": _clmad, "clmad.lo": _clmad, "clmad.hi": _clmad, "min": _minmax, "max": _minmax, "popc": _unary(_popc, "u32"), "clz": _unary(_clz, "u32"),
    "bfind": _bfind, "brev": _unary(_brev), "bfe": _bfe, "bfi": _bfi, "fns": lambda s: s.each(_fns, ["b32", "b32", "s32"], "b32"),
    "shl": _shift, "shr": _shift, "shf": _shf, "lop3": _lop3, "prmt": _prmt, "and": _logic, "or": _logic, "xor": _logic,
    "not": _unary(np.bitwise_not), "cnot": _unary(_cnot), "dp4a": _dot, "dp2a": _dot, "szext": _szext, "bmsk": _bmsk,
    "setp": _setp, "set": _set, "slct": _slct, "selp": _selp,
}  # fmt: skip
"""Builders by instruction name; for names that also exist for float types, of the other types only."""
