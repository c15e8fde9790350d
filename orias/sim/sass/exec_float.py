"""Builders for floating-point instructions."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import ABS, K_R, NEG, Opnd, imm64, is_imm, kind_of, payload
from orias.semantics.floats import ROUNDINGS, SCALES
from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_float as of
from orias.sim.math import ops_half as half
from orias.sim.math import ops_int as oi
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I32, U16, U32

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


def rounding(s: Site) -> int:
    """The rounding mode among the modifiers; to nearest even by default."""
    for x in s.op.mods:
        r = ROUNDINGS.get(x)
        if r is not None:
            return r
    return sf.RN


def _scale(s: Site) -> float:
    for x in s.op.mods:
        if x in SCALES:
            return 2.0 ** SCALES[x]
    return 1.0


def fadd(s: Site) -> Exec:
    """FADD."""
    mode, ftz, sat = rounding(s), s.has("FTZ"), s.has("SAT")
    x, y, put = s.f32(s.src[0]), s.f32(s.src[1]), s.result32()
    if mode == sf.RN and not ftz and not sat:
        return s.into32(sf.plain_sum, x, y)
    return lambda m, a: put(m, a, sf.fadd32(x(m, a), y(m, a), mode, ftz, sat))


def fmul(s: Site) -> Exec:
    """FMUL, with its power-of-two scales."""
    mode, ftz, sat, scale = rounding(s), s.has("FTZ"), s.has("SAT"), _scale(s)
    x, y, put = s.f32(s.src[0]), s.f32(s.src[1]), s.result32()
    if mode == sf.RN and not ftz and not sat and scale == 1.0:
        return s.into32(sf.plain_product, x, y)
    return lambda m, a: put(m, a, sf.fmul32(x(m, a), y(m, a), mode, ftz, sat, scale))


def ffma(s: Site) -> Exec:
    """FFMA."""
    mode, ftz, sat, scale = rounding(s), s.has("FTZ"), s.has("SAT"), _scale(s)
    if s.has("FMZ"):
        raise s.unknown()
    x, y, z, put = s.f32(s.src[0]), s.f32(s.src[1]), s.f32(s.src[2]), s.result32()
    if mode == sf.RN and not ftz and not sat and scale == 1.0:
        return s.into32(sf.plain_fma, x, y, z)
    return lambda m, a: put(m, a, sf.fma32(x(m, a), y(m, a), z(m, a), mode, ftz, sat, scale))


def dadd(s: Site) -> Exec:
    """DADD."""
    mode = rounding(s)
    operands = [o for o in s.src if payload(o) != 255 or len(s.src) == 2 or is_imm(o)]
    x, y, put = s.f64(operands[0]), s.f64(operands[-1]), s.result64()
    return lambda m, a: put(m, a, sf.dadd64(x(m, a), y(m, a), mode))


def dmul(s: Site) -> Exec:
    """DMUL."""
    mode = rounding(s)
    x, y, put = s.f64(s.src[0]), s.f64(s.src[1]), s.result64()
    return lambda m, a: put(m, a, sf.dmul64(x(m, a), y(m, a), mode))


def dfma(s: Site) -> Exec:
    """DFMA."""
    mode = rounding(s)
    x, y, z, put = s.f64(s.src[0]), s.f64(s.src[1]), s.f64(s.src[2]), s.result64()
    return lambda m, a: put(m, a, sf.dfma64(x(m, a), y(m, a), z(m, a), mode))


def _setp(s: Site, x: Getter, y: Getter, view: np.dtype[Any]) -> Exec:
    cmp = next(c for c in s.op.mods if c in of.COMPARISONS)
    logic = next(c for c in s.op.mods if c in ("AND", "OR", "XOR"))
    p = s.pred(s.src[2])
    first, second = s.setp(s.preds[0]), s.setp(s.preds[1])
    single = payload(s.preds[1]) == 7

    def run(m: Machine, a: Active) -> None:
        r = of.compare(cmp, x(m, a).view(view), y(m, a).view(view))
        q = p(m, a)
        first_value = oi.combine(logic, r, q)
        second_value = None if single else oi.combine(logic, ~r, q)
        first(m, a, first_value)
        if second_value is not None:
            second(m, a, second_value)

    return run


def _flushed(g: Getter, ftz: bool) -> Getter:
    return (lambda m, a: sf.ftz32(g(m, a))) if ftz else g


def fsetp(s: Site) -> Exec:
    """FSETP."""
    ftz = s.has("FTZ")
    return _setp(s, _flushed(s.f32(s.src[0]), ftz), _flushed(s.f32(s.src[1]), ftz), of.F32)


def dsetp(s: Site) -> Exec:
    """DSETP."""
    if s.has("MIN") or s.has("MAX"):
        return _dsetp_minmax(s)
    return _setp(s, s.f64(s.src[0]), s.f64(s.src[1]), of.F64)


def _dsetp_minmax(s: Site) -> Exec:
    """DSETP.MIN/MAX, the comparison of f64 min and max.

    Semantics as ``ptxas`` uses it (sm_75 to sm_90): where the first predicate holds, the result is the first operand,
    else the second; where the second predicate holds, both are NaNs and the result is the second operand with its quiet
    bit set.
    """
    x, y, p = s.f64(s.src[0]), s.f64(s.src[1]), s.pred(s.src[2])
    first, second = s.setp(s.preds[0]), s.setp(s.preds[1])
    minimum = s.has("MIN")

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a).view(of.F64), y(m, a).view(of.F64)
        q = p(m, a)
        r = half.prefers_first(v, w, minimum)
        nan = np.isnan(v) & np.isnan(w)
        r, nan = r & q, nan & q
        first(m, a, r)
        second(m, a, nan)

    return run


def fset(s: Site) -> Exec:
    """FSET: all ones (1.0 with BF) where the comparison holds."""
    cmp = next(c for c in s.op.mods if c in of.COMPARISONS)
    logic = next(c for c in s.op.mods if c in ("AND", "OR", "XOR"))
    ftz = s.has("FTZ")
    x, y, p, put = s.f32(s.src[0]), s.f32(s.src[1]), s.pred(s.src[2]), s.result32()
    one = np.uint32(0x3F800000 if s.has("BF") else 0xFFFFFFFF)

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a), y(m, a)
        if ftz:
            v, w = sf.ftz32(v), sf.ftz32(w)
        r = oi.combine(logic, of.compare(cmp, v.view(of.F32), w.view(of.F32)), p(m, a))
        put(m, a, np.where(r, one, np.uint32(0)))

    return run


def fsel(s: Site) -> Exec:
    """FSEL."""
    ftz = s.has("FTZ")
    x, y, p, put = _flushed(s.f32(s.src[0]), ftz), _flushed(s.f32(s.src[1]), ftz), s.pred(s.src[2]), s.result32()
    return lambda m, a: put(m, a, np.where(p(m, a), x(m, a), y(m, a)))


def fmnmx(s: Site) -> Exec:
    """FMNMX; XORSIGN combines the signs of the operands before their absolute values are taken."""
    ftz, nan, xorsign = s.has("FTZ"), s.has("NAN"), s.has("XORSIGN")
    keep = ~ABS if xorsign else -1
    x, y, p, put = s.f32(s.src[0] & keep), s.f32(s.src[1] & keep), s.pred(s.src[2]), s.result32()
    return lambda m, a: put(m, a, of.fmnmx(x(m, a), y(m, a), p(m, a), ftz, nan, xorsign))


def fchk(s: Site) -> Exec:
    """FCHK.DIVIDE."""
    x, y, out = s.f32(s.src[0]), s.f32(s.src[1]), s.setp(s.preds[0])
    return lambda m, a: out(m, a, of.fchk(x(m, a), y(m, a)))


def mufu(s: Site) -> Exec:
    """MUFU."""
    function = s.op.mods[0]
    put = s.result32()
    o = s.src[0]
    if s.has("F16x2") or s.has("BF16x2"):
        return _mufu_pair(s, function)
    if s.has("F16") or s.has("BF16") or s.has("BF16_V2") or s.has("PACKED"):
        return _mufu_half(s, function)
    if function.endswith("64H"):
        if is_imm(o):
            o = imm64(payload(o) >> 32)
        g = s.f32(o)
        return lambda m, a: put(m, a, of.nudge(of.mufu64h(function, g(m, a)), 0x7FF00000, m.mufu_error))
    if function not in ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH"):
        raise s.unknown()
    g = s.f32(o)
    return lambda m, a: put(m, a, of.nudge(of.mufu(function, g(m, a)), 0x7F800000, m.mufu_error))


def _mufu_pair(s: Site, function: str) -> Exec:
    """MUFU of the two halves of a word (sm_103)."""
    if function != "EX2" or len(s.src) != 1 or kind_of(s.src[0]) != K_R:
        raise s.unknown()
    bf16 = s.has("BF16x2")
    g, put = s.raw(s.src[0]), s.result32()
    negative, absolute = bool(s.src[0] & NEG), bool(s.src[0] & ABS)

    def run(m: Machine, a: Active) -> None:
        pair = g(m, a)
        out = np.zeros(a.n, U32)
        for shift in (np.uint32(0), np.uint32(16)):
            x = half.value(pair >> shift & np.uint32(0xFFFF), bf16)
            x = np.abs(x) if absolute else x
            r = np.exp2(-x if negative else x)
            out |= half.pattern(r, bf16).astype(U32) << shift
        put(m, a, out)

    return run


def _mufu_half(s: Site, function: str) -> Exec:
    bf16 = not s.has("F16")
    g = s.part(s.src[0], 16)
    negative, absolute = bool(s.src[0] & 1 << 4), bool(s.src[0] & 1 << 5)
    put = s.result32()
    if function not in ("EX2", "TANH", "RCP", "RSQ", "SQRT", "LG2", "SIN", "COS"):
        raise s.unknown()

    def run(m: Machine, a: Active) -> None:
        x = half.value(g(m, a), bf16)
        if absolute:
            x = np.abs(x)
        if negative:
            x = -x
        if function == "EX2":
            r = np.exp2(x)
        elif function == "TANH":
            r = np.tanh(x)
        else:
            r = of.mufu(function, x.astype(np.float32).view(U32)).view(of.F32).astype(np.float64)
        put(m, a, half.pattern(r, bf16).astype(U32))

    return run


# -- conversions

_FLOATS: Final = ("F16", "BF16", "TF32", "F32", "F64")


def _int_type(s: Site, default: str = "S32") -> tuple[int, bool]:
    for x in s.op.mods:
        if x in ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64"):
            return int(x[1:]), x[0] == "S"
    return int(default[1:]), default[0] == "S"


def value_of(s: Site, o: Opnd, kind_: str, ftz: bool) -> Getter:
    """The operand of a float type as f64 values."""
    if kind_ == "F64":
        g64 = s.f64(o)
        return lambda m, a: g64(m, a).view(of.F64)
    if kind_ in ("F16", "BF16"):
        g16 = s.part(o, 16)
        bf16 = kind_ == "BF16"
        negative, absolute = bool(o & 1 << 4), bool(o & 1 << 5)

        def get(m: Machine, a: Active) -> Arr:
            x = half.value(g16(m, a), bf16)
            if absolute:
                x = np.abs(x)
            return -x if negative else x

        return get
    g = _flushed(s.f32(o), ftz)
    return lambda m, a: g(m, a).view(of.F32).astype(np.float64)


def f2f(s: Site) -> Exec:
    """F2F.DST.SRC."""
    types = [x for x in s.op.mods if x in _FLOATS]
    to, source = (types[0], types[1]) if len(types) > 1 else ("F32", "F32")
    mode, ftz = rounding(s), s.has("FTZ")
    g = value_of(s, s.src[0], source, ftz)
    if to == "F64":
        put64 = s.result64()
        return lambda m, a: put64(m, a, sf.finish64(g(m, a)))
    put = s.result32()
    if to == "F32":
        return lambda m, a: put(m, a, sf.finish32(sf.round_f64_to_f32(g(m, a), mode), ftz, s.has("SAT")))
    if to in ("F16", "BF16"):
        bf16 = to == "BF16"
        return lambda m, a: put(m, a, half.pattern(g(m, a), bf16, mode).astype(U32))
    raise s.unknown()


def f2i(s: Site) -> Exec:
    """F2I: saturating; NaN gives zero with NTZ, else the pattern with only the highest bit set."""
    bits, signed = _int_type(s)
    source = next((x for x in s.op.mods if x in _FLOATS), "F32")
    mode, ntz = rounding(s), s.has("NTZ")
    g = value_of(s, s.src[0], source, s.has("FTZ"))
    if bits == 64:
        put64 = s.result64()
        return lambda m, a: put64(m, a, of.to_int(g(m, a), 64, signed, mode, ntz))
    put = s.result32()
    return lambda m, a: put(m, a, of.to_int(g(m, a), bits, signed, mode, ntz).astype(U32))


def f2ip(s: Site) -> Exec:
    """F2IP.U8/S8.F32: two saturated integers, and above them the shifted third source."""
    bits, signed = _int_type(s)
    if bits != 8 or s.has("F16"):
        raise s.unknown()
    mode = rounding(s)
    gx, gy = value_of(s, s.src[0], "F32", False), value_of(s, s.src[1], "F32", False)
    gz, put = s.i32(s.src[2]), s.result32()

    def run(m: Machine, a: Active) -> None:
        x = of.to_int(gx(m, a), 8, signed, mode, True).astype(U32) & np.uint32(0xFF)
        y = of.to_int(gy(m, a), 8, signed, mode, True).astype(U32) & np.uint32(0xFF)
        put(m, a, (gz(m, a) << np.uint32(16)) | (x << np.uint32(8)) | y)

    return run


def i2f(s: Site) -> Exec:
    """I2F, I2FP."""
    bits, signed = _int_type(s)
    to = next((x for x in s.op.mods if x in _FLOATS), "F32")
    mode = rounding(s)
    o = s.src[0]

    pair: Callable[[Machine, Active], tuple[Arr, Arr]]
    if bits == 64:
        g64 = s.i64(o)

        def pair64(m: Machine, a: Active) -> tuple[Arr, Arr]:
            low, high = oi.words(g64(m, a))
            return sf.int_to_f64_pair(high, low, signed)

        pair = pair64
    elif bits == 32:
        g32 = s.i32(o)

        def pair32(m: Machine, a: Active) -> tuple[Arr, Arr]:
            v = g32(m, a)
            return (v.view(I32) if signed else v).astype(np.float64), np.zeros(1)

        pair = pair32
    else:
        part = s.part(o, bits)
        narrow: np.dtype[Any] = oi.I8 if bits == 8 else oi.I16
        unsigned: np.dtype[Any] = oi.U8 if bits == 8 else U16

        def pair_narrow(m: Machine, a: Active) -> tuple[Arr, Arr]:
            v = part(m, a).astype(unsigned)
            return (v.view(narrow) if signed else v).astype(np.float64), np.zeros(1)

        pair = pair_narrow
    if to == "F64":
        put64 = s.result64()
        return lambda m, a: put64(m, a, sf.finish64(sf.round_pair_to_f64(*pair(m, a), mode)))
    put = s.result32()
    if to == "F32":
        return lambda m, a: put(m, a, sf.round_f64_to_f32(sf.to_odd(*pair(m, a)), mode).view(U32))
    bf16 = to == "BF16"
    return lambda m, a: put(m, a, half.pattern(sf.to_odd(*pair(m, a)), bf16, mode).astype(U32))


def frnd(s: Site) -> Exec:
    """FRND: to an integral value."""
    types = [x for x in s.op.mods if x in _FLOATS]
    source = types[-1] if types else "F32"
    mode, ftz = rounding(s), s.has("FTZ")
    g = value_of(s, s.src[0], source, ftz)
    if source == "F64":
        put64 = s.result64()
        return lambda m, a: put64(m, a, sf.finish64(of.round_integral(g(m, a), mode)))
    put = s.result32()
    if source == "F32":
        return lambda m, a: put(
            m, a, sf.finish32(of.round_integral(g(m, a), mode).astype(np.float32), ftz, s.has("SAT"))
        )
    bf16 = source == "BF16"
    return lambda m, a: put(m, a, half.pattern(of.round_integral(g(m, a), mode), bf16).astype(U32))


# -- packed halves


def _half_flags(s: Site) -> tuple[bool, bool, bool, bool]:
    return s.has("BF16_V2") or s.has("BF16"), s.has("FTZ"), s.has("SAT"), s.has("RELU")


def _half_arith(s: Site, f: Callable[..., half.Halves], count: int) -> Exec:
    bf16, ftz, sat, relu = _half_flags(s)
    known = {"BF16_V2", "BF16", "FTZ", "SAT", "RELU", "F32", "MMA", "FMZ"}
    if set(s.op.mods) - known:
        raise s.unknown()
    g = [s.halves(o, bf16, ftz) for o in s.src[:count]]
    put = s.result32()
    if s.has("F32"):

        def run32(m: Machine, a: Active) -> None:
            low = f(*[x(m, a) for x in g])[0]
            put(m, a, sf.finish32(low.astype(np.float32), ftz, sat))

        return run32

    def run(m: Machine, a: Active) -> None:
        low, high = f(*[x(m, a) for x in g])
        put(m, a, half.pack(half.finish(low, bf16, ftz, sat, relu), half.finish(high, bf16, ftz, sat, relu)))

    return run


def hadd2(s: Site) -> Exec:
    """HADD2; with F32 the sum of the low halves as f32."""
    return _half_arith(s, half.add2, 2)


def hmul2(s: Site) -> Exec:
    """HMUL2."""
    return _half_arith(s, half.mul2, 2)


def hfma2(s: Site) -> Exec:
    """HFMA2; ``HFMA2.MMA R, -RZ, RZ, x`` is a move of an immediate."""
    return _half_arith(s, half.fma2, 3)


def hmnmx2(s: Site) -> Exec:
    """HMNMX2 of two, VHMNMX of three pairs of halves; the last source selects minimum or maximum."""
    bf16, ftz, _, _ = _half_flags(s)
    nan, xorsign = s.has("NAN"), s.has("XORSIGN")
    keep = ~ABS if xorsign else -1
    x, *more = (s.halves(o & keep, bf16, ftz) for o in s.src[:-1])
    p, put = s.pred(s.src[-1]), s.result32()

    def run(m: Machine, a: Active) -> None:
        v, q = x(m, a), p(m, a)
        for y in more:
            w = y(m, a)
            v = (half.minmax(v[0], w[0], q, nan, xorsign), half.minmax(v[1], w[1], q, nan, xorsign))
        put(m, a, half.pack(half.pattern(v[0], bf16), half.pattern(v[1], bf16)))

    return run


def hsetp2(s: Site) -> Exec:
    """HSETP2: one predicate per half; with H_AND the first is true if both hold, the second is its complement."""
    bf16, ftz, _, _ = _half_flags(s)
    cmp = next(c for c in s.op.mods if c in of.COMPARISONS)
    logic = next(c for c in s.op.mods if c in ("AND", "OR", "XOR"))
    x, y, p = s.halves(s.src[0], bf16, ftz), s.halves(s.src[1], bf16, ftz), s.pred(s.src[2])
    first, second = s.setp(s.preds[0]), s.setp(s.preds[1])
    both = s.has("H_AND")

    def run(m: Machine, a: Active) -> None:
        v, w, q = x(m, a), y(m, a), p(m, a)
        low, high = of.compare(cmp, v[0], w[0]), of.compare(cmp, v[1], w[1])
        if both:
            low = low & high
            high = ~low
        low, high = oi.combine(logic, low, q), oi.combine(logic, high, q)
        first(m, a, low)
        second(m, a, high)

    return run


def hset2(s: Site) -> Exec:
    """HSET2: 1.0 (BF) or all ones in each half where the comparison holds."""
    bf16 = s.has("BF16_V2")
    ftz = s.has("FTZ")
    cmp = next(c for c in s.op.mods if c in of.COMPARISONS)
    logic = next(c for c in s.op.mods if c in ("AND", "OR", "XOR"))
    x, y, p, put = s.halves(s.src[0], bf16, ftz), s.halves(s.src[1], bf16, ftz), s.pred(s.src[2]), s.result32()
    one = np.uint16((0x3F80 if bf16 else 0x3C00) if s.has("BF") else 0xFFFF)

    def run(m: Machine, a: Active) -> None:
        v, w, q = x(m, a), y(m, a), p(m, a)
        r = [np.where(oi.combine(logic, of.compare(cmp, v[k], w[k]), q), one, np.uint16(0)) for k in (0, 1)]
        put(m, a, half.pack(r[0], r[1]))

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "FADD": fadd, "FMUL": fmul, "FFMA": ffma, "DADD": dadd, "DMUL": dmul, "DFMA": dfma, "FSETP": fsetp, "DSETP": dsetp,
    "FSET": fset, "FSEL": fsel, "FMNMX": fmnmx, "FCHK": fchk, "MUFU": mufu, "F2F": f2f, "F2I": f2i,
    "F2IP": f2ip, "I2F": i2f, "I2FP": i2f, "FRND": frnd, "HADD2": hadd2, "HMUL2": hmul2, "HFMA2": hfma2,
    "HMNMX2": hmnmx2, "VHMNMX": hmnmx2, "HSETP2": hsetp2, "HSET2": hset2,
}  # fmt: skip
