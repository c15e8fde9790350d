"""Floats of 8, 6 and 4 bits: e4m3, e5m2 (OCP 8-bit formats), e3m2, e2m3, e2m1 (OCP microscaling formats), scales (ue8m0).

Rounding is to nearest even and saturates.  NaN and large values are converted as by ``cvt...satfinite`` (PTX ISA 9.0)
and by the host code in CUDA 13.0's ``cuda_fp8.hpp``, ``cuda_fp6.hpp`` and ``cuda_fp4.hpp``.  Which random bits stochastic
rounding takes is said in docs/simulator.md.
"""

from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.math import ops_half as half
from orias.sim.math.ops_int import U8, U16, U32

Arr = npt.NDArray[Any]


@final
class Narrow:
    """A format: its number of bits, and its finite values without sign in the order of their codes."""

    __slots__ = ("bits", "infinite", "least", "mantissa", "nan", "table")

    def __init__(self, exponent: int, mantissa: int, bias: int, nan: int = 0, infinite: bool = False) -> None:
        self.bits: Final[int] = 1 + exponent + mantissa
        self.mantissa: Final[int] = mantissa
        self.least: Final[int] = 1 - bias
        """Exponent of the least normal number."""
        self.nan: Final[int] = nan
        """The code of the canonical NaN; 0 if the format has none, and NaN becomes the largest value."""
        self.infinite: Final[bool] = infinite
        codes = np.arange(1 << exponent + mantissa)
        if infinite:
            codes = codes[: -1 << mantissa]
        elif nan:
            codes = codes[:-1]
        scale = 2.0 ** (np.maximum(codes >> mantissa, 1) - bias - mantissa)
        fraction = codes & ((1 << mantissa) - 1)
        self.table: Final[Arr] = (fraction + np.where(codes >> mantissa > 0, 1 << mantissa, 0)) * scale

    def encode(self, x: Arr, relu: bool) -> Arr:
        """f64 values rounded to nearest even and saturated to the largest finite value, as uint8 codes.

        That ReLU leaves NaN unchanged is a guess.
        """
        sign = np.uint8(1 << self.bits - 1)
        middle = (self.table[:-1] + self.table[1:]) / 2
        a = np.abs(x)
        code = np.searchsorted(middle, a, side="left")
        tie = (code < len(middle)) & (middle[np.minimum(code, len(middle) - 1)] == a)
        code = np.where(tie & (code & 1 == 1), code + 1, code).astype(U8)
        negative = np.signbit(x)
        code = np.where(negative, np.uint8(0) if relu else code | sign, code)
        return np.where(np.isnan(x), np.uint8(self.nan or len(self.table) - 1), code)

    def encode_randomly(self, x: Arr, random: Arr, relu: bool) -> Arr:
        """f64 values rounded with 16 random bits each and saturated, as uint8 codes."""
        sign = np.uint8(1 << self.bits - 1)
        code = np.minimum(_round_randomly(x, random, 16, self.least, self.mantissa), len(self.table) - 1).astype(U8)
        code = np.where(np.signbit(x), np.uint8(0) if relu else code | sign, code)
        return np.where(np.isnan(x), np.uint8(self.nan or len(self.table) - 1), code)

    def encode_pair_randomly(self, low: Arr, high: Arr, random: Arr, relu: bool) -> Arr:
        """Two values as a word of codes, with the 16 random bits of `random`: the high value has them in reverse order."""
        shift = np.uint32(4 if self.bits == 4 else 8)
        below = self.encode_randomly(low, random, relu).astype(U32)
        result: Arr = below | self.encode_randomly(high, _reversed16(random), relu).astype(U32) << shift
        return result

    def decode(self, code: Arr) -> Arr:
        """uint8 codes as f64 values; bits above the format's width are ignored."""
        sign = np.uint8(1 << self.bits - 1)
        magnitude = (code & (sign - np.uint8(1))).astype(np.int64)
        count = len(self.table)
        v = np.where(magnitude < count, self.table[np.minimum(magnitude, count - 1)], np.nan)
        if self.infinite:
            v = np.where(magnitude == count, np.inf, v)
        return np.where(code & sign, -v, v)

    def encode_pair(self, low: Arr, high: Arr, relu: bool) -> Arr:
        """Two values as a word of codes: 4-bit codes share a byte, others take a byte each."""
        shift = np.uint32(4 if self.bits == 4 else 8)
        result: Arr = self.encode(low, relu).astype(U32) | self.encode(high, relu).astype(U32) << shift
        return result

    def decode_pair(self, v: Arr) -> tuple[Arr, Arr]:
        """The values (low, high) of the codes in a word."""
        if self.bits == 4:
            return self.decode((v & 15).astype(U8)), self.decode((v >> 4 & 15).astype(U8))
        return self.decode((v & 255).astype(U8)), self.decode((v >> 8 & 255).astype(U8))


def _round_randomly(x: Arr, random: Arr, bits: int, least: int, mantissa: int) -> Arr:
    """Magnitudes as codes: a random fraction of the last place, of `bits` bits, is added; what is below that place is lost.

    `least` is the exponent of the least normal number.  Infinity and NaN become a code above all others.
    """
    a = np.where(np.isfinite(x), np.abs(x), 0.0)
    e = np.where(a > 0, np.maximum(np.frexp(a)[1] - 1, least), least)
    units = np.ldexp(a, mantissa - e) + random.astype(np.float64) * 2.0**-bits
    code = np.floor(units).astype(np.int64) + ((e - least).astype(np.int64) << mantissa)
    result: Arr = np.where(np.isfinite(x), code, np.int64(1) << 40)
    return result


def _reversed16(v: Arr) -> Arr:
    """The low 16 bits in reverse order."""
    r = v & np.uint32(0xFFFF)
    for shift, mask in ((1, 0x5555), (2, 0x3333), (4, 0x0F0F), (8, 0x00FF)):
        n, low = np.uint32(shift), np.uint32(mask)
        r = (r & low) << n | (r >> n) & low
    return r


def halves_randomly(low: Arr, high: Arr, random: Arr, bf16: bool, relu: bool, finite: bool) -> Arr:
    """f64 values rounded to two f16 or bf16, with the low 13 or 16 bits of each half of `random`, as words."""
    bits, least, mantissa, top = (16, -126, 7, 0x7F80) if bf16 else (13, -14, 10, 0x7C00)

    def one(x: Arr, r: Arr) -> Arr:
        code = _round_randomly(x, r & np.uint32((1 << bits) - 1), bits, least, mantissa)
        p = np.minimum(code, top - 1 if finite else top).astype(U16)
        p = np.where(np.signbit(x), np.uint16(0) if relu else p | np.uint16(0x8000), p)
        return np.where(np.isnan(x), np.uint16(0x7FFF), p)

    return half.pack(one(low, random), one(high, random >> np.uint32(16)))


NARROW: Final[dict[str, Narrow]] = {
    "E4M3": Narrow(4, 3, 7, nan=0x7F),
    "E5M2": Narrow(5, 2, 15, nan=0x7F, infinite=True),
    "E3M2": Narrow(3, 2, 3),
    "E2M3": Narrow(2, 3, 1),
    "E2M1": Narrow(2, 1, 1),
}


def encode_scale(v: Arr, up: bool, finite: bool) -> Arr:
    """Patterns of f32 values, without sign, as uint8 exponents of powers of two.

    Rounding is towards zero or, with `up`, away from it.  Code 0 is 2**-127, which smaller values also become.  Code
    255 stands for NaN and, unless `finite`, for values that are too large.
    """
    size = v & np.uint32(0x7FFFFFFF)
    code = size >> np.uint32(23)
    if up:
        code = code + (
            (size & np.uint32(0x7FFFFF) != 0) & (size > np.uint32(0x400000)) & (size < np.uint32(0x7F800000))
        )
    if finite:
        code = np.where((size <= np.uint32(0x7F800000)) & (code == 255), 254, code)
    return code.astype(U8)


def decode_scale(code: Arr) -> Arr:
    """uint8 exponents as patterns of bf16 values."""
    e = code.astype(U16)
    result: Arr = np.where(e == 0, np.uint16(0x40), np.where(e == 255, np.uint16(0x7FFF), e << np.uint16(7)))
    return result


def encode_scales(low: Arr, high: Arr, up: bool, finite: bool) -> Arr:
    """Two scales as a word, with a byte each."""
    result: Arr = encode_scale(low, up, finite).astype(U32) | encode_scale(high, up, finite).astype(U32) << np.uint32(8)
    return result


def decode_scales(v: Arr) -> Arr:
    """A word of two scales as a word of two bf16."""
    return half.pack(decode_scale(v & 255), decode_scale(v >> 8))
