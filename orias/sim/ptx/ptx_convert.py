"""Builders: cvt and cvt.pack."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_float as of
from orias.sim.math import ops_half as half
from orias.sim.math import ops_int as oi
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I32, I64, U16, U32, U64
from orias.sim.math.ops_narrow import NARROW, decode_scales, encode_scales, halves_randomly
from orias.sim.ptx.machine import ptx
from orias.sim.ptx.ptx_float import MODES
from orias.sim.ptx.ptx_integer import Builder
from orias.sim.ptx.ptx_site import UNSIGNED, PtxSite, bits_of, is_signed, signed_view

Arr = npt.NDArray[Any]

_INTEGERS: Final = frozenset(("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"))
_FLOATS: Final = frozenset(("f16", "bf16", "f32", "f64"))
_NARROW: Final = frozenset(f"{name.lower()}x2" for name in NARROW)
_INTEGRAL: Final[dict[str, int]] = {"rni": sf.RN, "rzi": sf.RZ, "rmi": sf.RM, "rpi": sf.RP}


def _between_integers(s: PtxSite, d: str, t: str) -> Exec:
    sat = s.has("sat")
    bits = bits_of(d)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(d) else (0, (1 << bits) - 1)

    def f(v: Arr) -> Arr:
        if is_signed(t):
            x = signed_view(v).astype(I64)
            if sat:
                x = np.clip(x, low, min(high, (1 << 63) - 1))
            return x.view(U64).astype(UNSIGNED[bits])
        if sat:
            v = np.minimum(v.astype(U64), np.uint64(high))
        return v.astype(UNSIGNED[bits])

    return s.each(f, [t], d)


def _value(s: PtxSite, t: str, ftz: bool) -> Getter:
    """The source, of a float type, as f64 values."""
    g = s.src(s.ops[1], t)
    if t == "f64":
        return lambda m, a: g(m, a).view(of.F64)
    if t == "f32":
        return lambda m, a: (sf.ftz32(g(m, a)) if ftz else g(m, a)).view(of.F32).astype(np.float64)
    return lambda m, a: half.value(g(m, a), t == "bf16")


def _to_integer(s: PtxSite, d: str, t: str) -> Exec:
    """Float to integer.  For NaN the manual says zero; the hardware gives the minimum if either type has 64 bits."""
    mode = _INTEGRAL[s.mods["rnd"]]
    g, put = _value(s, t, s.has("ftz")), s.dst(s.ops[0], d)
    bits = bits_of(d)
    wide = bits == 64 or t == "f64"

    def run(m: Machine, a: Active) -> None:
        zero = not wide or ptx(m).choice.other
        # F2I of an f64 NaN gives at least 32 bits, whose low bits are those of zero.
        x = g(m, a)
        r = of.to_int(x, bits, is_signed(d), mode, zero)
        put(m, a, r.astype(UNSIGNED[bits]))

    return run


def _finish(s: PtxSite, d: str, x: Arr, mode: int) -> Arr:
    """f64 values rounded to a float type, with .sat, .relu, .satfinite and .ftz."""
    ftz, sat, relu, finite = s.has("ftz"), s.has("sat"), s.has("relu"), s.has("satfinite")
    if d == "f64":
        r = sf.finish64(x)
        if sat:
            v = r.view(of.F64)
            r = sf.finish64(np.where(v > 0, np.minimum(v, 1.0), 0.0))
        return r
    if d == "f32":
        return sf.finish32(sf.round_f64_to_f32(x, mode), ftz, sat)
    bf16 = d == "bf16"
    p = half.pattern(x, bf16, mode)
    if relu:
        p = np.where((p & np.uint16(0x8000)) != 0, np.uint16(0), p)
    if finite:
        top = np.uint16(0x7F80 if bf16 else 0x7C00)
        p = np.where((p & np.uint16(0x7FFF)) == top, (p & np.uint16(0x8000)) | (top - np.uint16(1)), p)
    if sat:
        v = half.value(p, bf16)
        one = np.uint16(0x3F80 if bf16 else 0x3C00)
        p = np.where(v > 0, np.where(v > 1, one, p), np.uint16(0))
    return p.astype(U16)


def _from_integer(s: PtxSite, d: str, t: str) -> Exec:
    mode = MODES[s.mods["rnd"]]
    g, put = s.src(s.ops[1], t), s.dst(s.ops[0], d)

    def run(m: Machine, a: Active) -> None:
        v = g(m, a)
        if bits_of(t) == 64:
            low, high = oi.words(v)
            pair = sf.int_to_f64_pair(high, low, is_signed(t))
            x = sf.round_pair_to_f64(*pair, mode) if d == "f64" else sf.to_odd(*pair)
        else:
            x = (signed_view(v) if is_signed(t) else v).astype(np.float64)
        put(m, a, _finish(s, d, x, mode))

    return run


def _widened(s: PtxSite) -> Exec:
    """bf16 to f32: the same bits, as compilers shift them; the manual names no NaN."""
    g, put = s.src(s.ops[1], "bf16"), s.dst(s.ops[0], "f32")

    def run(m: Machine, a: Active) -> None:
        v = g(m, a).astype(U32) << np.uint32(16)
        put(m, a, sf.finish32(v.view(of.F32), False, False) if ptx(m).choice.other else v)

    return run


def _between_floats(s: PtxSite, d: str, t: str) -> Exec:
    rnd = s.mods.get("rnd", "rn")
    plain, flushed, put = _value(s, t, False), _value(s, t, s.has("ftz")), s.dst(s.ops[0], d)
    # .ftz to f16: the packing instruction does not flush its source, and the manual allows both readings.
    narrow = d == "f16"
    g: Getter = lambda m, a: (plain if narrow and not ptx(m).choice.other else flushed)(m, a)  # noqa: E731
    if rnd in _INTEGRAL:
        mode = _INTEGRAL[rnd]
        return lambda m, a: put(m, a, _finish(s, d, of.round_integral(g(m, a), mode), sf.RN))
    mode = MODES[rnd]
    exact = not (s.has("sat") or s.has("ftz"))
    if d == t and exact:
        same = s.src(s.ops[1], t)
        return lambda m, a: put(m, a, same(m, a))
    if (d, t) == ("f32", "bf16") and exact:
        return _widened(s)
    return lambda m, a: put(m, a, _finish(s, d, g(m, a), mode))


def _pack_halves(s: PtxSite, d: str) -> Exec:
    mode = MODES[s.mods["rnd"]]
    part = d.removesuffix("x2")
    x, y, put = s.src(s.ops[1], "f32"), s.src(s.ops[2], "f32"), s.dst(s.ops[0], d)

    def one(g: Getter, m: Machine, a: Active) -> Arr:
        return _finish(s, part, g(m, a).view(of.F32).astype(np.float64), mode)

    return lambda m, a: put(m, a, half.pack(one(y, m, a), one(x, m, a)))


def _to_tf32(s: PtxSite) -> Exec:
    rnd = s.mods["rnd"]
    relu, finite = s.has("relu"), s.has("satfinite")
    magnitude, infinite = np.uint32(0x7FFFFFFF), np.uint32(0x7F800000)

    def f(v: Arr) -> Arr:
        size = v & magnitude
        odd = (v >> np.uint32(13)) & np.uint32(1)
        up = np.uint32(0x1000) if rnd == "rna" else np.uint32(0xFFF) + odd if rnd == "rn" else np.uint32(0)
        r = np.where(size < infinite, v + up, v) & np.uint32(0xFFFFE000)
        if rnd == "rna":
            # NaNs lose their low bits only, and one step with .satfinite: so is the code of ptxas 13.0.88 on sm_80 to sm_100.
            return np.where(finite & ((r & infinite) == infinite), r - np.uint32(0x2000), r)
        if finite:
            r = np.where((r & magnitude) == infinite, (r & ~magnitude) | np.uint32(0x7F7FE000), r)
        r = np.where(size > infinite, np.uint32(0x7FFFE000), r)
        if relu:
            r = np.where(((v & ~magnitude) != 0) & (size <= infinite), np.uint32(0), r)
        return r

    return s.each(f, ["f32"], "b32")


def _to_narrow(s: PtxSite, d: str, t: str) -> Exec:
    to, relu, result = NARROW[d.removesuffix("x2").upper()], s.has("relu"), f"b{bits_of(d)}"

    def encode(high: Arr, low: Arr) -> Arr:
        return to.encode_pair(low, high, relu).astype(UNSIGNED[bits_of(d)])

    if t in ("f16x2", "bf16x2"):

        def packed(v: Arr) -> Arr:
            low, high = half.unpack(v, t == "bf16x2")
            return encode(high, low)

        return s.each(packed, ["b32"], result)
    return s.each(
        lambda x, y: encode(x.view(of.F32).astype(np.float64), y.view(of.F32).astype(np.float64)),
        ["f32", "f32"],
        result,
    )


def _randomly(s: PtxSite, d: str) -> Exec:
    """Stochastic rounding of two values to halves, or of four to narrow formats: the upper half of the random bits first."""
    relu, result = s.has("relu"), s.dst(s.ops[0], f"b{bits_of(d)}")
    random = s.src(s.ops[-1], "b32")
    operands = s.ops[1].elems if d.endswith("x4") else s.ops[1:3]
    gets = [s.src(o, "f32") for o in operands]

    def value(g: Getter, m: Machine, a: Active) -> Arr:
        return g(m, a).view(of.F32).astype(np.float64)

    if not d.endswith("x4"):
        bf16, finite = d == "bf16x2", s.has("satfinite")
        x, y = gets
        return lambda m, a: result(
            m, a, halves_randomly(value(y, m, a), value(x, m, a), random(m, a), bf16, relu, finite)
        )
    to = NARROW[d.removesuffix("x4").upper()]
    width = np.uint32(bits_of(d) // 2)

    def run(m: Machine, a: Active) -> None:
        bits = random(m, a)
        v = [value(g, m, a) for g in gets]
        above = to.encode_pair_randomly(v[1], v[0], bits >> np.uint32(16), relu)
        below = to.encode_pair_randomly(v[3], v[2], bits & np.uint32(0xFFFF), relu)
        result(m, a, (above << width | below).astype(UNSIGNED[bits_of(d)]))

    return run


def _from_narrow(s: PtxSite, t: str, bf16: bool) -> Exec:
    narrow, relu = NARROW[t.removesuffix("x2").upper()], s.has("relu")

    def f(v: Arr) -> Arr:
        low, high = (half.finish(x, bf16, False, False, relu) for x in narrow.decode_pair(v))
        return half.pack(low, high)

    return s.each(f, [f"b{bits_of(t)}"], "b32")


def _to_scale(s: PtxSite, t: str) -> Exec:
    up, finite = s.mods["rnd"] == "rp", s.has("satfinite")

    def encode(high: Arr, low: Arr) -> Arr:
        return encode_scales(low, high, up, finite).astype(U16)

    if t == "bf16x2":
        return s.each(lambda v: encode(v & np.uint32(0xFFFF0000), v << np.uint32(16)), ["b32"], "b16")
    return s.each(encode, ["f32", "f32"], "b16")


def _from_scale(s: PtxSite) -> Exec:
    return s.each(decode_scales, ["b16"], "b32")


def _cvt(s: PtxSite) -> Exec:
    if len(s.types) != 2:
        raise s.unknown()
    d, t = s.types
    if s.mods.get("rnd") == "rs":
        return _randomly(s, d)
    if d in _INTEGERS and t in _INTEGERS:
        return _between_integers(s, d, t)
    if d in _INTEGERS and t in _FLOATS:
        return _to_integer(s, d, t)
    if d in _FLOATS and t in _INTEGERS:
        return _from_integer(s, d, t)
    if d in _FLOATS and t in _FLOATS:
        return _between_floats(s, d, t)
    if d in ("f16x2", "bf16x2") and t == "f32":
        return _pack_halves(s, d)
    if d == "tf32":
        return _to_tf32(s)
    if s.has("scaled"):
        raise s.unknown("scales")
    if d in _NARROW and t in ("f32", "f16x2", "bf16x2"):
        return _to_narrow(s, d, t)
    if d in ("f16x2", "bf16x2") and t in _NARROW:
        return _from_narrow(s, t, d == "bf16x2")
    if d == "ue8m0x2" and t in ("f32", "bf16x2"):
        return _to_scale(s, t)
    if (d, t) == ("bf16x2", "ue8m0x2"):
        return _from_scale(s)
    raise s.unknown()


def _cvt_pack(s: PtxSite) -> Exec:
    d, t = s.types[:2]
    bits = int(d[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(d) else (0, (1 << bits) - 1)
    mask = np.uint32((1 << bits) - 1)

    def one(v: Arr) -> Arr:
        x = (v.view(I32) if is_signed(t) else v).astype(I64)
        return np.clip(x, low, high).astype(U64).astype(U32) & mask

    def f(x: Arr, y: Arr, *rest: Arr) -> Arr:
        r = one(x) << np.uint32(bits) | one(y)
        return r | rest[0] << np.uint32(2 * bits) if rest else r

    return s.each(f, ["b32", "b32", "b32"][: len(s.ops) - 1], "b32")


CONVERT: Final[dict[str, Builder]] = {"cvt": _cvt, "cvt.pack": _cvt_pack}
