"""Builder for F2FP: conversions of pairs, and of f32 to tf32."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_float as of
from orias.sim.math import ops_half as half
from orias.sim.math.ops_int import U32
from orias.sim.math.ops_narrow import NARROW, Narrow, decode_scales, encode_scales, halves_randomly
from orias.sim.sass.exec_float import Builder, rounding

Arr = npt.NDArray[Any]

_SCALE: Final = "E8"
"""The format ue8m0."""
_UNIT_SCALES: Final = 0x7F7F


def f2fp(s: Site) -> Exec:
    """F2FP: packed conversions.

    PACK_AB: two f32 sources, the first one for the upper half (for narrow formats, the upper part).  MERGE_C: the last
    source is above the result.  UNPACK_B: two packed values are converted.  RS: the last source has random bits, those for
    narrow formats in its upper half.
    """
    mods = set(s.op.mods)
    if "TF32" in mods and not mods - {"TF32", "F32", "RELU", "RZ", "PACK_B", "SATFINITE"}:
        return _to_tf32(s)
    known = {"F16", "BF16", *NARROW, _SCALE, "F32", "RELU", "RZ", "RP", "SATFINITE", "RS"}
    shapes = {"PACK_AB", "MERGE_C", "PACK_AB_MERGE_C", "UNPACK_B", "UNPACK_B_MERGE_C"}
    shape = next((x for x in s.op.mods if x in shapes), "")
    if mods - known - shapes or not shape:
        raise s.unknown()
    formats = [x for x in s.op.mods if x in ("F16", "BF16", _SCALE) or x in NARROW]
    to = formats[0] if formats else "F16"
    put = s.result32()
    merge = s.i32(s.src[-1]) if shape.endswith("MERGE_C") else None
    random = "RS" in mods
    above = np.uint32(8 if to == "E2M1" else 16)
    if random and shape not in ("PACK_AB", "PACK_AB_MERGE_C"):
        raise s.unknown()
    if ("RP" in mods and to != _SCALE) or (_SCALE in formats and "RELU" in mods):
        raise s.unknown()
    packed: Getter
    if shape == "UNPACK_B" and len(formats) == 2 and to in ("F16", "BF16"):
        packed = _from_scale(s) if formats[1] == _SCALE else _from_narrow(s, NARROW[formats[1]], to == "BF16")
    elif to == _SCALE:
        packed = _to_scale(s, formats[1:] == ["BF16"])
    elif to in NARROW:
        packed = _to_narrow(s, NARROW[to], shape.startswith("UNPACK"), formats[1:] == ["BF16"])
    elif shape in ("PACK_AB", "MERGE_C"):
        packed = _to_half(s, to == "BF16", shape == "PACK_AB")
    else:
        raise s.unknown()

    def run(m: Machine, a: Active) -> None:
        v = packed(m, a)
        if merge is not None:
            c = merge(m, a)
            v = v | c << above
            if random and above == 8:
                # The random bits of the next pair stand above two bytes of results.
                v = (v & np.uint32(0xFFFF)) | c << np.uint32(16)
        put(m, a, v)

    return run


def _to_tf32(s: Site) -> Exec:
    """f32 with its low 13 bits rounded to nearest even, or with RZ truncated; SATFINITE makes infinity the largest number."""
    relu, nearest, finite = s.has("RELU"), not s.has("RZ"), s.has("SATFINITE")
    x, put = s.f32(s.src[0]), s.result32()

    def run(m: Machine, a: Active) -> None:
        v = x(m, a)
        magnitude = v & np.uint32(0x7FFFFFFF)
        up = np.uint32(0xFFF) + ((v >> np.uint32(13)) & np.uint32(1)) if nearest else np.uint32(0)
        r = np.where(magnitude < np.uint32(0x7F800000), v + up, v) & np.uint32(0xFFFFE000)
        if finite:
            r = np.where((r & np.uint32(0x7FFFFFFF)) == np.uint32(0x7F800000), r - np.uint32(0x2000), r)
        r = np.where(magnitude > np.uint32(0x7F800000), np.uint32(0x7FFFE000), r)
        if relu:
            r = np.where(((r >> np.uint32(31)) != 0) & (magnitude <= np.uint32(0x7F800000)), np.uint32(0), r)
        put(m, a, r)

    return run


def _to_half(s: Site, bf16: bool, pair: bool) -> Getter:
    relu, sat, mode = s.has("RELU"), s.has("SATFINITE"), rounding(s)
    x, y = s.f32(s.src[0]), s.f32(s.src[1])
    largest = np.uint16(0x7F7F if bf16 else 0x7BFF)

    def one(g: Getter, m: Machine, a: Active) -> Arr:
        p = half.pattern(g(m, a).view(of.F32).astype(np.float64), bf16, mode)
        if relu:
            p = np.where((p & np.uint16(0x8000)) != 0, np.uint16(0), p)
        if sat:
            over = (p & np.uint16(0x7FFF)) == np.uint16(0x7F80 if bf16 else 0x7C00)
            p = np.where(over, (p & np.uint16(0x8000)) | largest, p)
        return p

    if pair and s.has("RS"):
        z = s.i32(s.src[2])
        return lambda m, a: halves_randomly(_value(y, m, a), _value(x, m, a), z(m, a), bf16, relu, sat)
    if pair:
        return lambda m, a: half.pack(one(y, m, a), one(x, m, a))
    return lambda m, a: one(x, m, a).astype(U32)


def _value(g: Getter, m: Machine, a: Active) -> Arr:
    return g(m, a).view(of.F32).astype(np.float64)


def _to_narrow(s: Site, to: Narrow, from_half: bool, bf16: bool) -> Getter:
    relu = s.has("RELU")
    if not s.has("SATFINITE"):
        raise s.unknown()

    def join(low: Arr, high: Arr) -> Arr:
        return to.encode_pair(low, high, relu)

    if from_half:
        halves = s.halves(s.src[0], bf16)
        return lambda m, a: join(*halves(m, a))
    x, y = s.f32(s.src[0]), s.f32(s.src[1])
    if s.has("RS"):
        z = s.i32(s.src[2])
        return lambda m, a: to.encode_pair_randomly(_value(y, m, a), _value(x, m, a), z(m, a) >> np.uint32(16), relu)
    return lambda m, a: join(_value(y, m, a), _value(x, m, a))


def _from_narrow(s: Site, narrow: Narrow, bf16: bool) -> Getter:
    relu = s.has("RELU")
    if len(s.src) > 1 or s.has("SATFINITE"):
        return _scaled(s, narrow, relu)
    g = s.part(s.src[0], 8 if narrow.bits == 4 else 16)

    def get(m: Machine, a: Active) -> Arr:
        low, high = (half.finish(v, bf16, False, False, relu) for v in narrow.decode_pair(g(m, a)))
        return half.pack(low, high)

    return get


def _scaled(s: Site, narrow: Narrow, relu: bool) -> Getter:
    """Two values to bfloat16 with scales, which must be 1."""
    if s.has("SATFINITE"):
        raise s.unknown("saturation of a scaled value")
    g, scale = s.part(s.src[0], 8 if narrow.bits == 4 else 16), s.part(s.src[1], 16)

    def get(m: Machine, a: Active) -> Arr:
        if (scale(m, a) != _UNIT_SCALES).any():
            raise s.unknown("scales other than 1")
        low, high = (half.finish(v, True, False, False, relu) for v in narrow.decode_pair(g(m, a)))
        return half.pack(low, high)

    return get


def _to_scale(s: Site, from_bf16: bool) -> Getter:
    up, finite = s.has("RP"), s.has("SATFINITE")
    if not up and not s.has("RZ"):
        raise s.unknown()

    if from_bf16:
        g = s.i32(s.src[0])

        def split(m: Machine, a: Active) -> Arr:
            v = g(m, a)
            return encode_scales(v << np.uint32(16), v & np.uint32(0xFFFF0000), up, finite)

        return split
    x, y = s.f32(s.src[0]), s.f32(s.src[1])
    return lambda m, a: encode_scales(y(m, a), x(m, a), up, finite)


def _from_scale(s: Site) -> Getter:
    g = s.part(s.src[0], 16)
    return lambda m, a: decode_scales(g(m, a))


BUILDERS: Final[dict[str, Builder]] = {"F2FP": f2fp}
