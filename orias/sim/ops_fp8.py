"""The 8-bit formats e4m3 (bias 7, no infinity, largest 448) and e5m2 (bias 15, IEEE-like, largest 57344)."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.ops_int import U8

Arr = npt.NDArray[Any]

_NAN: Final = np.uint8(0x7F)


def magnitudes(mantissa: int, bias: int, count: int) -> Arr:
    """The first `count` non-negative values of a format with so many bits of mantissa, in order of their codes."""
    codes = np.arange(count)
    exponent, fraction = codes >> mantissa, codes & ((1 << mantissa) - 1)
    scale = 2.0 ** (np.maximum(exponent, 1) - bias - mantissa)
    result: Arr = (fraction + np.where(exponent > 0, 1 << mantissa, 0)) * scale
    return result


_E4M3: Final = magnitudes(3, 7, 0x7F)
_E5M2: Final = magnitudes(2, 15, 0x7C)


def encode(x: Arr, e4m3: bool, relu: bool) -> Arr:
    """f64 values rounded to nearest even and saturated to the largest finite value, as uint8 codes."""
    table = _E4M3 if e4m3 else _E5M2
    middle = (table[:-1] + table[1:]) / 2
    a = np.abs(x)
    code = np.searchsorted(middle, a, side="left")
    tie = (code < len(middle)) & (middle[np.minimum(code, len(middle) - 1)] == a)
    code = np.where(tie & (code & 1 == 1), code + 1, code).astype(U8)
    code = code | np.where(np.signbit(x), np.uint8(0x80), np.uint8(0))
    if relu:
        code = np.where(np.signbit(x), np.uint8(0), code)
    return np.where(np.isnan(x), _NAN, code)


def decode(code: Arr, e4m3: bool) -> Arr:
    """uint8 codes as f64 values."""
    table = _E4M3 if e4m3 else _E5M2
    magnitude = (code & np.uint8(0x7F)).astype(np.int64)
    special = np.nan if e4m3 else np.inf
    v = np.where(magnitude < len(table), table[np.minimum(magnitude, len(table) - 1)], special)
    if not e4m3:
        v = np.where(magnitude > len(table), np.nan, v)
    return np.where(code & np.uint8(0x80), -v, v)
