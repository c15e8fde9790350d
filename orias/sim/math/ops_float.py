"""Floating-point operations other than plain arithmetic: comparison, conversion, MUFU.

The hardware's ``MUFU`` approximates within 1 to 2 ulp (for sine and cosine with an absolute error of about 2**-20).
Here the f32 result is the exact function of the operand, rounded once from f64.  Special cases follow the hardware:
denormal operands count as zeros of their sign; denormal results of RCP and EX2 are flushed.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.semantics.floats import division_needs_help
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I64, U32, U64

Arr = npt.NDArray[Any]

F32: Final = np.dtype(np.float32)
F64: Final = np.dtype(np.float64)


def compare(op: str, a: Arr, b: Arr) -> Arr:
    """The float comparisons: LT .. NE are false on NaN, LTU .. NEU true; NUM and NAN test for order."""
    f = _COMPARE.get(op)
    if f is None:
        return np.full(np.broadcast_shapes(a.shape, b.shape), op == "T")
    return f(a, b)


_COMPARE: Final[dict[str, Callable[[Arr, Arr], Arr]]] = {
    "LT": lambda a, b: a < b,
    "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "NE": lambda a, b: (a < b) | (a > b),
    "LTU": lambda a, b: ~(a >= b),
    "EQU": lambda a, b: ~((a < b) | (a > b)),
    "LEU": lambda a, b: ~(a > b),
    "GTU": lambda a, b: ~(a <= b),
    "GEU": lambda a, b: ~(a < b),
    "NEU": lambda a, b: a != b,
    "NAN": lambda a, b: (a != a) | (b != b),
    "NUM": lambda a, b: (a == a) & (b == b),
}
COMPARISONS: Final = ("F", "T", *_COMPARE)


def fmnmx(a: Arr, b: Arr, take_min: Arr, ftz: bool, nan: bool, xorsign: bool) -> Arr:
    """f32 minimum (where the predicate holds) or maximum."""
    if ftz:
        a, b = sf.ftz32(a), sf.ftz32(b)
    x, y = a.view(F32), b.view(F32)
    return sf.finish32(half.minmax(x, y, take_min, nan, xorsign).astype(F32), False, False)


def _flush(x: Arr) -> Arr:
    return sf.ftz32(x).view(F32)


def mufu(function: str, a: Arr) -> Arr:
    """f32 functions of MUFU on f32 patterns; sine and cosine take revolutions (radians / 2 pi)."""
    if function == "TANH":
        return sf.finish32(np.tanh(a.view(F32).astype(F64)).astype(F32), False, False)
    x = _flush(a).astype(F64)
    if function == "RCP":
        r = 1.0 / x
    elif function == "RSQ":
        r = 1.0 / np.sqrt(x)
    elif function == "SQRT":
        r = np.sqrt(x)
    elif function == "EX2":
        r = np.exp2(x)
    elif function == "LG2":
        r = np.log2(x)
    elif function in ("SIN", "COS"):
        turn = x - np.floor(x)
        angle = turn * (2 * np.pi)
        r = np.sin(angle) if function == "SIN" else np.cos(angle)
        if function == "SIN":
            r = np.where(x == 0, x, r)
    else:
        raise ValueError(f"MUFU.{function}")
    return sf.finish32(r.astype(F32), True, False)


def mufu64h(function: str, high: Arr) -> Arr:
    """RCP64H and RSQ64H: the high word of the f64 approximation, from the high word of the operand.

    Precision: the 20 significand bits of that word, rounded; denormal operands count as zeros.
    """
    bits = high.astype(U64) << np.uint64(32)
    denormal = (high & np.uint32(0x7FF00000)) == 0
    x = np.where(denormal, bits & np.uint64(1 << 63), bits).view(F64)
    r = 1.0 / x if function == "RCP64H" else 1.0 / np.sqrt(x)
    out = sf.finish64(r)
    finite = np.isfinite(r)
    rounded = np.where(finite, out + np.uint64(0x80000000), out)
    word = (rounded >> np.uint64(32)).astype(U32)
    # denormal results are flushed
    word = np.where((word & np.uint32(0x7FF00000)) == 0, word & np.uint32(0x80000000), word)
    return np.where(np.isnan(r), np.uint32(0x7FFFFFFF), word)


def nudge(bits: Arr, exponent: int, ulps: int) -> Arr:
    """f32 patterns (or high words of f64) moved by `ulps` units in the last place; zeros, infinities and NaNs stay."""
    if ulps == 0:
        return bits
    field = bits & np.uint32(exponent)
    return np.where((field != 0) & (field != exponent), bits + np.uint32(ulps & 0xFFFFFFFF), bits)


def moved(patterns: Arr, form: tuple[int, int], ulps: int) -> Arr:
    """Words of float patterns, each element moved by `ulps` units in the last place; zeros, infinities and NaNs stay.

    `form`: (bits of an element, bits of its mantissa); a word may hold several elements.
    """
    bits, mantissa = form
    parts = patterns.view(np.dtype(f"u{bits // 8}"))
    top = parts.dtype.type(((1 << bits - 1) - 1) >> mantissa << mantissa)
    field = parts & top
    step = parts.dtype.type(ulps & (1 << bits) - 1)
    return np.where((field != 0) & (field != top), parts + step, parts).view(patterns.dtype)


def fchk(a: Arr, b: Arr) -> Arr:
    """True where a / b needs the slow path of f32 division."""
    ea = ((a >> np.uint32(23)) & np.uint32(255)).astype(np.int32)
    eb = ((b >> np.uint32(23)) & np.uint32(255)).astype(np.int32)
    slow: Arr = division_needs_help(ea, eb)
    return slow


def to_int(x: Arr, bits: int, signed: bool, mode: int, nan_zero: bool) -> Arr:
    """f64 values (exact) as saturated integers: uint64 patterns of the destination's width."""
    if mode == sf.RM:
        r = np.floor(x)
    elif mode == sf.RP:
        r = np.ceil(x)
    elif mode == sf.RZ:
        r = np.trunc(x)
    else:
        r = np.rint(x)
    low = -(2.0 ** (bits - 1)) if signed else 0.0
    high = 2.0 ** (bits - 1) if signed else 2.0**bits
    top = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    inside = (r >= low) & (r < high)
    if bits <= 32 and inside.all():
        return r.astype(I64).view(U64)
    safe = np.where(inside, r, 0.0)
    if signed:
        value = safe.astype(I64).view(U64)
    else:
        big = safe >= 2.0**63
        value = np.where(big, safe - 2.0**63, safe).astype(I64).view(U64) + np.where(
            big, np.uint64(1 << 63), np.uint64(0)
        )
    value = np.where(r >= high, np.uint64(top), value)
    bottom = ((1 << bits) - (1 << (bits - 1))) if signed else 0
    sign_fill = (0xFFFFFFFFFFFFFFFF << bits) & 0xFFFFFFFFFFFFFFFF if signed else 0
    value = np.where(r < low, np.uint64(bottom | sign_fill), value)
    nan = np.uint64(0 if nan_zero else 1 << (bits - 1))
    return np.where(np.isnan(x), nan, value)


def round_integral(x: Arr, mode: int) -> Arr:
    """Values rounded to integral values of the same type."""
    if mode == sf.RM:
        return np.floor(x)
    if mode == sf.RP:
        return np.ceil(x)
    if mode == sf.RZ:
        return np.trunc(x)
    return np.rint(x)
