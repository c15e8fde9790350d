"""Operations on packed halves: two f16 or bf16 values in a word.

A half operand is a pair of float64 arrays (low, high), which hold every f16 and bf16 value exactly.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import U16, U32

Arr = npt.NDArray[Any]
Halves = tuple[Arr, Arr]


def value(pattern: Arr, bf16: bool) -> Arr:
    """16-bit patterns (in any unsigned type) as f64 values."""
    if bf16:
        return sf.bf16_to_f64(pattern)
    return pattern.astype(U16).view(np.float16).astype(np.float64)


def of_words(words: Arr, bf16: bool) -> Arr:
    """The values of a contiguous array of words, in a last axis of two: the low one first."""
    patterns = words.view(U16).reshape(*words.shape, 2)
    if bf16:
        return sf.bf16_to_f64(patterns)
    return patterns.view(np.float16).astype(np.float64)


def unpack(word: Arr, bf16: bool) -> Halves:
    """The two values of a word."""
    return value(word & np.uint32(0xFFFF), bf16), value(word >> np.uint32(16), bf16)


def pattern(x: Arr, bf16: bool, mode: int = sf.RN) -> Arr:
    """f64 values (rounded to odd, or exact) as uint16 patterns with the canonical NaN."""
    if bf16:
        return sf.round_f64_to_bf16(x, mode)
    return np.where(np.isnan(x), sf.NAN16, sf.round_f64_to_f16(x, mode).view(U16))


def of_f32(words: Arr) -> Arr:
    """f32 patterns as f16 patterns, rounded to nearest even, with the canonical NaN."""
    return pattern(words.view(np.float32).astype(np.float64), False)


def flush(x: Arr, bf16: bool) -> Arr:
    """Values with the format's denormals replaced by zeros of the same sign."""
    smallest = 2.0**-126 if bf16 else 2.0**-14
    return np.where(np.abs(x) < smallest, np.copysign(0.0, x), x)


def pack(low: Arr, high: Arr) -> Arr:
    """The word of two uint16 patterns."""
    return low.astype(U32) | (high.astype(U32) << np.uint32(16))


def finish(x: Arr, bf16: bool, ftz: bool, sat: bool, relu: bool) -> Arr:
    """Rounds to patterns; saturation and ReLU turn NaN into +0 and the canonical NaN respectively."""
    p = pattern(x, bf16)
    if ftz:
        exponent = np.uint16(0x7F80 if bf16 else 0x7C00)
        p = np.where((p & exponent) == 0, p & np.uint16(0x8000), p)
    if relu:
        p = np.where((p & np.uint16(0x8000)) != 0, np.uint16(0), p)
    if sat:
        v = value(p, bf16)
        one = np.uint16(0x3F80 if bf16 else 0x3C00)
        p = np.where(v > 0, np.where(v > 1, one, p), np.uint16(0)).astype(U16)
    return p


def add2(a: Halves, b: Halves) -> Halves:
    """Sums, rounded to odd."""
    return sf.to_odd(*sf.two_sum(a[0], b[0])), sf.to_odd(*sf.two_sum(a[1], b[1]))


def mul2(a: Halves, b: Halves) -> Halves:
    """Products, exact."""
    return a[0] * b[0], a[1] * b[1]


def fma2(a: Halves, b: Halves, c: Halves) -> Halves:
    """Fused multiply-adds, rounded to odd."""
    return sf.fma_values(a[0], b[0], c[0]), sf.fma_values(a[1], b[1], c[1])


def minmax(a: Arr, b: Arr, take_min: Arr, nan: bool, xorsign: bool) -> Arr:
    """Minimum or maximum of values: a NaN loses (with `nan` it wins), and -0 is below +0."""
    if xorsign:
        sign = np.signbit(a) ^ np.signbit(b)
        r = minmax(np.abs(a), np.abs(b), take_min, nan, False)
        return np.where(np.isnan(r), r, np.where(sign, -np.abs(r), np.abs(r)))
    less = (a < b) | ((a == b) & np.signbit(a))
    r = np.where(less == take_min, a, b)
    na, nb = np.isnan(a), np.isnan(b)
    if nan:
        return np.where(na | nb, np.nan, r)
    return np.where(na, b, np.where(nb, a, r))


def prefers_first(a: Arr, b: Arr, minimum: bool) -> Arr:
    """True where the minimum (maximum) of two values is the first: it is a number that wins, or the second is a NaN."""
    if minimum:
        wins = (a < b) | ((a == b) & np.signbit(a))
    else:
        wins = (a > b) | ((a == b) & ~np.signbit(a))
    result: Arr = wins | (np.isnan(b) & ~np.isnan(a))
    return result
