"""Builders: floating-point arithmetic and functions.

Arithmetic with a rounding mode rounds once.  ``.approx`` functions give the exact value rounded once; ``Choice.approx``
adds an error.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_REG, Operand
from orias.semantics import ieee
from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_float as of
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import U16, U32, U64
from orias.sim.ptx.machine import ptx
from orias.sim.ptx.ptx_integer import Builder, type_of
from orias.sim.ptx.ptx_site import UNSIGNED, PtxSite, bits_of

Arr = npt.NDArray[Any]

MODES: Final[dict[str, int]] = {"rn": sf.RN, "rm": sf.RM, "rp": sf.RP, "rz": sf.RZ}
_FLOAT_BITS: Final[dict[str, tuple[int, int]]] = {
    "f16": (16, 10), "f16x2": (16, 10), "bf16": (16, 7), "bf16x2": (16, 7), "f32": (32, 23), "f32x2": (32, 23), "f64": (64, 52),
}  # fmt: skip
"""(bits of an element, bits of its mantissa) of a type."""
SIGN: Final[dict[str, int]] = {"f32": 1 << 31, "f64": 1 << 63}


def mode_of(s: PtxSite) -> int:
    """The rounding mode; to nearest even by default."""
    return MODES.get(s.mods.get("rnd", "rn"), sf.RN)


def negated(v: Arr) -> Arr:
    """f32 or f64 patterns with the sign flipped."""
    result: Arr = v ^ v.dtype.type(1 << (8 * v.dtype.itemsize - 1))
    return result


def _is_half(t: str) -> bool:
    return t.startswith(("f16", "bf16"))


# -- halves

Values = Callable[..., Arr]


def _half_op(s: PtxSite, count: int, f: Values) -> Exec:
    """An operation on f64 values of halves, for one or both lanes of a word; `f` is exact or rounds to odd."""
    t = type_of(s)
    bf16, packed = t.startswith("bf16"), t.endswith("x2")
    ftz, sat, relu = s.has("ftz"), s.has("sat"), s.has("relu")
    gets = [s.src(o, t) for o in s.ops[1 : count + 1]]
    put = s.dst(s.ops[0], t)

    def lane(parts: list[Arr]) -> Arr:
        x = [half.value(p, bf16) for p in parts]
        if ftz:
            x = [half.flush(v, bf16) for v in x]
        return half.finish(f(*x), bf16, ftz, sat, relu)

    def run(m: Machine, a: Active) -> None:
        v = [g(m, a) for g in gets]
        if packed:
            low, high = lane([p & np.uint32(0xFFFF) for p in v]), lane([p >> np.uint32(16) for p in v])
            put(m, a, half.pack(low, high))
        else:
            put(m, a, lane(v).astype(U16))

    return run


def _odd_sum(x: Arr, y: Arr) -> Arr:
    return sf.to_odd(*sf.two_sum(x, y))


# -- arithmetic


def _mixed(s: PtxSite, o: Operand, t: str) -> Getter:
    """An f32 operand; halves of mixed-precision forms are widened."""
    g = s.src(o, t)
    if not _is_half(t):
        return g
    return lambda m, a: half.value(g(m, a), t.startswith("b")).astype(np.float32).view(U32)


def _add(s: PtxSite) -> Exec:
    t = s.types[0]
    mode, ftz, sat = mode_of(s), s.has("ftz"), s.has("sat")
    minus = s.name == "sub"
    if t == "f32x2":
        return _packed(s, lambda x, y: sf.fadd32(x, y, mode, ftz, False), minus)
    if _is_half(t):
        return _half_op(s, 2, (lambda x, y: _odd_sum(x, -y)) if minus else _odd_sum)
    fused = _fused_add(s)
    if fused is not None:
        return fused
    x, y, put = _mixed(s, s.ops[1], type_of(s)), s.src(s.ops[2], t), s.dst(s.ops[0], t)
    if minus:
        plus = y
        y = lambda m, a: negated(plus(m, a))  # noqa: E731
    if t == "f64":
        return lambda m, a: put(m, a, sf.dadd64(x(m, a), y(m, a), mode))
    return lambda m, a: put(m, a, sf.fadd32(x(m, a), y(m, a), mode, ftz, sat))


def _fused_add(s: PtxSite) -> Exec | None:
    """An addition or subtraction with the product that makes one of its operands, rounded once; None if none does."""
    products = s.unit.fused.get(id(s.instr))
    if products is None:
        return None
    at = 1 if products[0] is None or (products[1] is not None and s.program.image.choice.fuse == 2) else 0
    product = products[at]
    assert product is not None
    t = s.types[0]
    gets = [s.src(o, t) for o in (product.ops[1], product.ops[2], s.ops[2 - at])]
    put, ftz, sat, minus = s.dst(s.ops[0], t), s.has("ftz"), s.has("sat"), s.name == "sub"
    turned = (minus and at == 1, minus and at == 0)

    def run(m: Machine, a: Active) -> None:
        x, y, z = (g(m, a) for g in gets)
        x = negated(x) if turned[0] else x
        z = negated(z) if turned[1] else z
        put(m, a, sf.dfma64(x, y, z, sf.RN) if t == "f64" else sf.fma32(x, y, z, sf.RN, ftz, sat))

    return run


def _packed(s: PtxSite, f: Callable[..., Arr], negate_last: bool = False) -> Exec:
    """An operation on both f32 of doublewords; `f` takes patterns."""
    gets, put = [s.src(o, "b64") for o in s.ops[1:]], s.dst(s.ops[0], "b64")

    def run(m: Machine, a: Active) -> None:
        pairs = [(v.astype(U32), (v >> np.uint64(32)).astype(U32)) for v in (g(m, a) for g in gets)]
        if negate_last:
            pairs[-1] = negated(pairs[-1][0]), negated(pairs[-1][1])
        low, high = (f(*(p[k] for p in pairs)) for k in (0, 1))
        put(m, a, high.astype(U64) << np.uint64(32) | low)

    return run


def _mul(s: PtxSite) -> Exec:
    rounded = _rounded_mul(s)
    ulps = s.program.image.choice.product
    if "rnd" in s.mods or not ulps or s.ops[0].kind != O_REG:
        return rounded
    t = type_of(s)
    form = _FLOAT_BITS[t]
    get, put = s.src(s.ops[0], t), s.dst(s.ops[0], t)

    def run(m: Machine, a: Active) -> None:
        rounded(m, a)
        put(m, a, of.moved(np.ascontiguousarray(get(m, a)), form, ulps))

    return run


def _rounded_mul(s: PtxSite) -> Exec:
    t = type_of(s)
    if t == "f32x2":
        mode, ftz = mode_of(s), s.has("ftz")
        return _packed(s, lambda x, y: sf.fmul32(x, y, mode, ftz, False))
    mode, ftz, sat = mode_of(s), s.has("ftz"), s.has("sat")
    if _is_half(t):
        return _half_op(s, 2, lambda x, y: x * y)
    if t == "f64":
        return s.each(lambda x, y: sf.dmul64(x, y, mode), [t, t], t)
    return s.each(lambda x, y: sf.fmul32(x, y, mode, ftz, sat), [t, t], t)


def _fma(s: PtxSite) -> Exec:
    t = s.types[0]
    mode, ftz, sat = mode_of(s), s.has("ftz"), s.has("sat")
    if s.has("oob"):
        raise s.unknown()
    if t == "f32x2":
        return _packed(s, lambda x, y, z: sf.fma32(x, y, z, mode, ftz, False))
    if _is_half(t):
        return _half_op(s, 3, sf.fma_values)
    if t == "f64":
        return s.each(lambda x, y, z: sf.dfma64(x, y, z, mode), [t, t, t], t)
    u = type_of(s)
    x, y, z, put = _mixed(s, s.ops[1], u), _mixed(s, s.ops[2], u), s.src(s.ops[3], t), s.dst(s.ops[0], t)
    return lambda m, a: put(m, a, sf.fma32(x(m, a), y(m, a), z(m, a), mode, ftz, sat))


def _sign_change(s: PtxSite) -> Exec:
    """neg and abs.  The manual leaves the payload of a NaN result open."""
    t = type_of(s)
    absolute, ftz = s.name == "abs", s.has("ftz")
    g, put = s.src(s.ops[1], t), s.dst(s.ops[0], t)
    if _is_half(t):
        plain = _half_op(s, 1, np.abs if absolute else np.negative)
        flip = UNSIGNED[bits_of(t)].type(0x80008000 if t.endswith("x2") else 0x8000)
        bitwise: Exec = lambda m, a: put(m, a, g(m, a) & ~flip if absolute else g(m, a) ^ flip)  # noqa: E731
        return lambda m, a: (bitwise if ptx(m).choice.other and not ftz else plain)(m, a)

    def run(m: Machine, a: Active) -> None:
        v = g(m, a)
        sign = v.dtype.type(SIGN[t])
        r = v & ~sign if absolute else v ^ sign
        if ftz:
            r = sf.ftz32(r)
        x = v.view(of.F32 if t == "f32" else of.F64)
        if not ptx(m).choice.other:
            r = np.where(x != x, sf.NAN32 if t == "f32" else sf.NAN64, r)
        put(m, a, r)

    return run


def _minmax(s: PtxSite) -> Exec:
    t = type_of(s)
    take = np.full(1, s.name == "min")
    ftz, nan, xorsign = s.has("ftz"), s.has("NaN"), s.has("xorsign")
    if _is_half(t):
        return _half_op(s, 2, lambda x, y: half.minmax(x, y, take, nan, xorsign))
    if t == "f64":
        return s.each(
            lambda x, y: sf.finish64(half.minmax(x.view(of.F64), y.view(of.F64), take, False, False)), [t, t], t
        )
    if len(s.ops) == 4:
        kept = np.uint32(0x7FFFFFFF if s.has("abs") else 0xFFFFFFFF)
        return s.each(
            lambda x, y, z: of.fmnmx(
                of.fmnmx(x & kept, y & kept, take, ftz, nan, False), z & kept, take, ftz, nan, False
            ),
            [t, t, t],
            t,
        )
    return s.each(lambda x, y: of.fmnmx(x, y, take, ftz, nan, xorsign), [t, t], t)


def _copysign(s: PtxSite) -> Exec:
    t = type_of(s)

    def f(x: Arr, y: Arr) -> Arr:
        sign = x.dtype.type(SIGN[t])
        result: Arr = (x & sign) | (y & ~sign)
        return result

    return s.each(f, [t, t], t)


def _testp(s: PtxSite) -> Exec:
    t, what = type_of(s), s.mods["op"]
    g, put = s.src(s.ops[1], t), s.setp(s.ops[0])
    smallest = 2.0**-126 if t == "f32" else 2.0**-1022

    def run(m: Machine, a: Active) -> None:
        x = g(m, a).view(of.F32 if t == "f32" else of.F64)
        small = np.abs(x) < smallest
        r = {
            "finite": np.isfinite(x),
            "infinite": np.isinf(x),
            "number": ~np.isnan(x),
            "notanumber": np.isnan(x),
            # In ptxas 13.0.88 and in the hardware's class test, zero counts as normal.
            "normal": np.isfinite(x) & (~small | (x == 0)),
            "subnormal": small & (x != 0),
        }[what]
        put(m, a, r)

    return run


# -- division and roots


def _quotient64(x: Arr, y: Arr, mode: int) -> Arr:
    v, w = (np.ascontiguousarray(b) for b in np.broadcast_arrays(x, y))
    if mode == sf.RN:
        return sf.finish64(v.view(of.F64) / w.view(of.F64))
    return np.array([ieee.div(ieee.F64, int(a), int(b), mode) for a, b in zip(v, w, strict=True)], U64)


def _root64(x: Arr, mode: int) -> Arr:
    if mode == sf.RN:
        return sf.finish64(np.sqrt(x.view(of.F64)))
    return np.array([ieee.sqrt(ieee.F64, int(a), mode) for a in x], U64)


def _finish(x: Arr, mode: int, ftz: bool) -> Arr:
    return sf.finish32(sf.round_f64_to_f32(x, mode), ftz, False)


def _values32(v: Arr, ftz: bool) -> Arr:
    return (sf.ftz32(v) if ftz else v).view(of.F32).astype(np.float64)


def _nudged(m: Machine, r: Arr) -> Arr:
    """Results of an approximate function, with the error of the choice."""
    ulps = ptx(m).choice.approx
    return r * (1 + ulps * 2.0**-23) if ulps else r


def _approximate(s: PtxSite, f: Callable[..., Arr], count: int) -> Exec:
    """An approximate f32 function; `f` maps exact f64 values to f64."""
    ftz = s.has("ftz")
    gets = [s.src(o, "f32") for o in s.ops[1 : count + 1]]
    put = s.dst(s.ops[0], "f32")

    def run(m: Machine, a: Active) -> None:
        r = f(*[_values32(g(m, a), ftz) for g in gets])
        put(m, a, _finish(_nudged(m, r), sf.RN, ftz))

    return run


def _approx_quotient(x: Arr, y: Arr) -> Arr:
    """div.approx: divisors above 2**126 give zero (NaN for an infinite dividend)."""
    q = x / y
    large = (np.abs(y) > 2.0**126) & np.isfinite(y)
    return np.where(large, np.where(np.isinf(x), np.nan, np.copysign(0.0, q)), q)


def _div(s: PtxSite) -> Exec:
    t, rnd = type_of(s), s.mods["rnd"]
    if rnd == "full":
        return _approximate(s, np.divide, 2)
    if rnd == "approx":
        return _approximate(s, _approx_quotient, 2)
    mode, ftz = MODES[rnd], s.has("ftz")
    if t == "f64":
        return s.each(lambda x, y: _quotient64(x, y, mode), [t, t], t)
    return s.each(lambda x, y: _finish(_values32(x, ftz) / _values32(y, ftz), mode, ftz), [t, t], t)


def _seed64(s: PtxSite, f: Callable[[Arr], Arr]) -> Exec:
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: a result with 20 significant bits, whose low word is zero."""
    g, put = s.src(s.ops[1], "f64"), s.dst(s.ops[0], "f64")
    name = "RCP64H" if s.name == "rcp" else "RSQ64H"

    def run(m: Machine, a: Active) -> None:
        high = of.mufu64h(name, (g(m, a) >> np.uint64(32)).astype(U32))
        high = of.nudge(high, 0x7FF00000, ptx(m).choice.approx)
        put(m, a, high.astype(U64) << np.uint64(32))

    return run


def _rcp(s: PtxSite) -> Exec:
    t, rnd = type_of(s), s.mods["rnd"]
    if t == "f64":
        if rnd == "approx":
            return _seed64(s, np.reciprocal)
        mode = MODES[rnd]
        one = np.full(1, np.float64(1.0).view(U64), U64)
        return s.each(lambda x: _quotient64(one, x, mode), [t], t)
    if rnd == "approx":
        return _approximate(s, lambda x: 1.0 / x, 1)
    mode, ftz = MODES[rnd], s.has("ftz")
    return s.each(lambda x: _finish(1.0 / _values32(x, ftz), mode, ftz), [t], t)


def _sqrt(s: PtxSite) -> Exec:
    t, rnd = type_of(s), s.mods["rnd"]
    if t == "f64":
        mode = MODES[rnd]
        return s.each(lambda x: _root64(x, mode), [t], t)
    if rnd == "approx":
        return _approximate(s, np.sqrt, 1)
    mode, ftz = MODES[rnd], s.has("ftz")
    return s.each(lambda x: _finish(np.sqrt(_values32(x, ftz)), mode, ftz), [t], t)


def _rsqrt(s: PtxSite) -> Exec:
    if type_of(s) == "f64":
        if s.has("ftz"):
            return _seed64(s, np.sqrt)
        g, put = s.src(s.ops[1], "f64"), s.dst(s.ops[0], "f64")
        return lambda m, a: put(m, a, sf.finish64(_nudged(m, 1.0 / np.sqrt(g(m, a).view(of.F64)))))
    return _approximate(s, lambda x: 1.0 / np.sqrt(x), 1)


def _trigonometric(s: PtxSite) -> Exec:
    """sin and cos; the choice's error also applies to the argument, because its reduction has a relative error."""
    ftz, f = s.has("ftz"), np.sin if s.name == "sin" else np.cos
    g, put = s.src(s.ops[1], "f32"), s.dst(s.ops[0], "f32")

    def run(m: Machine, a: Active) -> None:
        ulps = ptx(m).choice.approx
        x = _values32(g(m, a), ftz)
        r = f(x * (1 + ulps * 2.0**-22)) * (1 + ulps * 2.0**-20) + ulps * 2.0**-22 if ulps else f(x)
        put(m, a, _finish(r, sf.RN, ftz))

    return run


def _function(f: Callable[[Arr], Arr]) -> Builder:
    def build(s: PtxSite) -> Exec:
        if not _is_half(type_of(s)):
            return _approximate(s, f, 1)
        return _half_function(s, f)

    return build


def _half_function(s: PtxSite, f: Callable[[Arr], Arr]) -> Exec:
    plain = _half_op(s, 1, f)
    moved = {k: _half_op(s, 1, lambda x, k=k: f(x) * (1 + k * 2.0**-10)) for k in (6, -6)}
    return lambda m, a: moved.get(ptx(m).choice.approx, plain)(m, a)


_OTHER_NAN: Final[dict[str, Any]] = {"f32": np.uint32(0x7FC12345), "f64": np.uint64(0x7FFABCDEF1234567)}


def _any_nan(build: Builder, types: tuple[str, ...]) -> Builder:
    """Wraps a builder whose NaN results have open payloads (always f64; f32 where code computes the function)."""

    def made(s: PtxSite) -> Exec:
        run = build(s)
        t = type_of(s)
        if t not in types or s.ops[0].kind != 1:
            return run
        g, put = s.src(s.ops[0], t), s.dst(s.ops[0], t)

        def changed(m: Machine, a: Active) -> None:
            run(m, a)
            if ptx(m).choice.other:
                v = g(m, a)
                x = v.view(of.F32 if t == "f32" else of.F64)
                put(m, a, np.where(x != x, _OTHER_NAN[t], v))

        return changed

    return made


_PLAIN: Final[dict[str, Builder]] = {
    "add": _add, "sub": _add, "mul": _mul, "fma": _fma, "mad": _fma, "neg": _sign_change, "abs": _sign_change,
    "min": _minmax, "max": _minmax, "copysign": _copysign, "testp": _testp, "div": _div, "rcp": _rcp, "sqrt": _sqrt,
    "rsqrt": _rsqrt, "sin": _trigonometric, "cos": _trigonometric, "lg2": _function(np.log2), "ex2": _function(np.exp2),
    "tanh": _function(np.tanh),
}  # fmt: skip
FLOAT: Final[dict[str, Builder]] = {
    name: _any_nan(b, ("f32", "f64") if name in ("div", "rcp", "sqrt", "rsqrt") else ("f64",))
    if name not in ("copysign", "testp")
    else b
    for name, b in _PLAIN.items()
}
"""Builders of instructions whose last type is a float type."""
