"""Operations of sm_100 to sm_121 on two f32 (FADD2, FMUL2, FFMA2), three f32 (FMNMX3), f32 and f16 (FHADD, FHFMA)."""

import itertools
from collections.abc import Callable
from typing import Final

import numpy as np

from orias.isa.operand import S_F32, Opnd, is_imm, suffix_of
from orias.sim.core.site import Arr, Exec, Getter, Site, signs32
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_float as of
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import words
from orias.sim.sass.exec_float import rounding, value_of

Pair = Callable[[Machine, Active], tuple[Arr, Arr]]
_LAYOUTS: Final = ("HI_LO", "LO_HI")


def _same(s: Site, o: Opnd) -> Pair:
    """A one-word operand as both the low and the high value."""
    g = s.f32(o)

    def get(m: Machine, a: Active) -> tuple[Arr, Arr]:
        v = g(m, a)
        return v, v

    return get


def _pair(s: Site, o: Opnd, swap: bool, negate: bool) -> Pair:
    """The (low, high) values of a pair operand; (high, low) with `swap`; then the second is negated with `negate`."""
    wide = s.raw64(o)
    sign = np.uint32(1 << 31 if negate else 0)

    def get(m: Machine, a: Active) -> tuple[Arr, Arr]:
        low, high = (signs32(v, o) for v in words(wide(m, a)))
        return (high, low ^ sign) if swap else (low, high ^ sign)

    return get


def _pairs(s: Site) -> list[Pair]:
    """The sources.  A register with F32, or an immediate, is both values; the layouts of the pairs are modifiers, in order.

    NP after a layout: the high value is negated.  In Ori an immediate may have a layout: then it is a pair.
    """
    mods = [*s.op.mods, ""]
    given = [(x == "LO_HI", after == "NP") for x, after in itertools.pairwise(mods) if x in _LAYOUTS]
    all_pairs = len(given) == sum(suffix_of(o) != S_F32 for o in s.src)
    layouts = iter(given)
    out = []
    for o in s.src:
        single = suffix_of(o) == S_F32 or (is_imm(o) and not all_pairs)
        out.append(_same(s, o) if single else _pair(s, o, *next(layouts)))
    return out


def packed(f: Callable[..., Arr]) -> Callable[[Site], Exec]:
    """The builder of an operation on both values; `f` takes patterns, rounding mode, FTZ and saturation."""

    def build(s: Site) -> Exec:
        mode, ftz = rounding(s), s.has("FTZ")
        g, put = _pairs(s), s.result64()

        def run(m: Machine, a: Active) -> None:
            values = [x(m, a) for x in g]
            low, high = (f(*(v[k] for v in values), mode, ftz, False) for k in (0, 1))
            put(m, a, high.astype(np.uint64) << np.uint64(32) | low)

        return run

    return build


def fmnmx3(s: Site) -> Exec:
    """FMNMX3: the minimum of three values where the predicate holds, else the maximum."""
    ftz, nan = s.has("FTZ"), s.has("NAN")
    x, y, z = (s.f32(o) for o in s.src[:3])
    p, put = s.pred(s.src[3]), s.result32()

    def run(m: Machine, a: Active) -> None:
        q = p(m, a)
        first = of.fmnmx(x(m, a), y(m, a), q, ftz, nan, False)
        put(m, a, of.fmnmx(first, z(m, a), q, ftz, nan, False))

    return run


def _half(s: Site, o: Opnd) -> Getter:
    """The f32 pattern of the half (bfloat16 with BF16) that an operand selects."""
    g = value_of(s, o, "BF16" if s.has("BF16") else "F16", False)
    return lambda m, a: g(m, a).astype(np.float32).view(np.uint32)


def fhadd(s: Site) -> Exec:
    """FHADD: a half and a f32, rounded once."""
    mode, sat = rounding(s), s.has("SAT")
    x, y, put = _half(s, s.src[0]), s.f32(s.src[1]), s.result32()
    return lambda m, a: put(m, a, sf.fadd32(x(m, a), y(m, a), mode, False, sat))


def fhfma(s: Site) -> Exec:
    """FHFMA: the product of two halves and a f32, rounded once."""
    mode, sat = rounding(s), s.has("SAT")
    x, y, z, put = _half(s, s.src[0]), _half(s, s.src[1]), s.f32(s.src[2]), s.result32()
    return lambda m, a: put(m, a, sf.fma32(x(m, a), y(m, a), z(m, a), mode, False, sat))


BUILDERS: Final[dict[str, Callable[[Site], Exec]]] = {
    "FADD2": packed(sf.fadd32), "FMUL2": packed(sf.fmul32), "FFMA2": packed(sf.fma32), "FMNMX3": fmnmx3, "FHADD": fhadd, "FHFMA": fhfma,
}  # fmt: skip
