"""IEEE arithmetic on bit patterns with every rounding mode, vectorised.

Functions take and return numpy arrays of bit patterns (``uint32`` for f32, ``uint64`` for f64, ``uint16`` for f16 and
bf16) or, where the name says so, ``float64`` values.  Results are correctly rounded: one rounding per operation,
including the fused multiply-add.  Only f64 operands with extreme exponents leave the vector code; exact integer
arithmetic handles them one by one.

NaN results are those of the hardware: ``0x7fffffff`` (f32), ``0xfff8000000000000`` (f64), ``0x7fff`` (f16, bf16).
"""

import threading
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.semantics import ieee

Arr = npt.NDArray[Any]

RN: Final = ieee.RN
RM: Final = ieee.RM
RP: Final = ieee.RP
RZ: Final = ieee.RZ

NAN32: Final = np.uint32(ieee.F32.nan)
NAN64: Final = np.uint64(ieee.F64.nan)
NAN16: Final = np.uint16(ieee.F16.nan)

_SIGN32: Final = np.uint32(0x80000000)
_EXP32: Final = np.uint32(0x7F800000)
_SIGN64: Final = np.uint64(1 << 63)
_ONE64: Final = np.int64(1)
_F32: Final = np.dtype(np.float32)
_F64: Final = np.dtype(np.float64)
_F16: Final = np.dtype(np.float16)
_U32: Final = np.dtype(np.uint32)
_U64: Final = np.dtype(np.uint64)
_U16: Final = np.dtype(np.uint16)
_I64: Final = np.dtype(np.int64)


def ftz32(x: Arr) -> Arr:
    """f32 patterns with denormals replaced by a zero of the same sign."""
    return np.where((x & _EXP32) != 0, x, x & _SIGN32)


def sat32(x: Arr) -> Arr:
    """f32 patterns clamped to [0, 1]; NaN and everything up to -0 become +0."""
    f = x.view(_F32)
    return np.where(f > 0, np.minimum(f, np.float32(1)), np.float32(0)).astype(_F32).view(_U32)


def two_sum(x: Arr, y: Arr) -> tuple[Arr, Arr]:
    """The rounded sum of two f64 values and its exact error."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def _split(x: Arr) -> tuple[Arr, Arr]:
    c = x * 134217729.0
    high = c - (c - x)
    return high, x - high


def two_prod(x: Arr, y: Arr) -> tuple[Arr, Arr]:
    """The rounded product of two f64 values and its exact error (exponents must not be near the ends of the range)."""
    p = x * y
    xh, xl = _split(x)
    yh, yl = _split(y)
    return p, ((xh * yh - p) + xh * yl + xl * yh) + xl * yl


def to_odd(s: Arr, e: Arr) -> Arr:
    """The f64 sum ``s + e`` (``s`` rounded to nearest, ``e`` its error) rounded to odd.

    A value rounded to odd gives, in a later rounding to at least two bits fewer, the same result as the exact value.
    """
    inexact = (e != 0) & np.isfinite(e)
    if not inexact.any():
        return s
    bits = s.view(_I64)
    even = (bits & _ONE64) == 0
    up = (e > 0) == (s > 0)
    step = np.where(inexact & even, np.where(up, _ONE64, -_ONE64), np.int64(0))
    return (bits + step).view(_F64)


def round_f64_to_f32(x: Arr, mode: int) -> Arr:
    """f64 values rounded to f32 values in one of the four modes."""
    r = x.astype(_F32)
    if mode == RN:
        return r
    wide = r.astype(_F64)
    if mode == RZ:
        return np.where(np.abs(wide) > np.abs(x), np.nextafter(r, np.float32(0)), r)
    if mode == RM:
        return np.where(wide > x, np.nextafter(r, np.float32(-np.inf)), r)
    return np.where(wide < x, np.nextafter(r, np.float32(np.inf)), r)


def round_f64_to_f16(x: Arr, mode: int = RN) -> Arr:
    """f64 values rounded to f16 values in one of the four modes."""
    r = x.astype(_F16)
    if mode == RN:
        return r
    wide = r.astype(_F64)
    if mode == RZ:
        return np.where(np.abs(wide) > np.abs(x), np.nextafter(r, np.float16(0)), r)
    if mode == RM:
        return np.where(wide > x, np.nextafter(r, np.float16(-np.inf)), r)
    return np.where(wide < x, np.nextafter(r, np.float16(np.inf)), r)


def round_f64_to_bf16(x: Arr, mode: int = RN) -> Arr:
    """f64 values rounded to bf16 patterns."""
    truncated = round_f64_to_f32(x, RZ)
    inexact = truncated.astype(_F64) != x
    bits = truncated.view(_U32)
    low = bits & np.uint32(0xFFFF)
    lost = (low != 0) | inexact
    odd = np.where(inexact, bits | np.uint32(1), bits)
    high = (odd >> np.uint32(16)).astype(_U32)
    if mode == RN:
        bump = (odd & np.uint32(0xFFFF)) + (high & np.uint32(1)) > 0x8000
        high = high + bump
    elif mode != RZ:
        negative = (bits & _SIGN32) != 0
        high = high + (lost & (negative if mode == RM else ~negative))
    r = high.astype(_U16)
    return np.where(np.isnan(x), NAN16, np.where(np.isinf(x), (bits >> np.uint32(16)).astype(_U16), r))


def bf16_to_f64(x: Arr) -> Arr:
    """bf16 patterns as f64 values."""
    return (x.astype(_U32) << np.uint32(16)).view(_F32).astype(_F64)


def finish32(f: Arr, ftz: bool, sat: bool) -> Arr:
    """f32 values as patterns, with the canonical NaN; flushed and saturated on request."""
    bits = f.view(_U32)
    nan = f != f
    if nan.any():
        bits = np.where(nan, NAN32, bits)
    if ftz:
        bits = ftz32(bits)
    if sat:
        bits = sat32(bits)
    return bits


def _zero_sign(sum_: Arr, x: Arr, y: Arr, mode: int) -> Arr:
    """Sets the sign of an exact zero from operands of different sign: negative when rounding down."""
    if mode != RM:
        return sum_
    flip = (sum_ == 0) & (np.signbit(x) != np.signbit(y))
    return np.where(flip, -0.0, sum_)


def fadd32(a: Arr, b: Arr, mode: int = RN, ftz: bool = False, sat: bool = False) -> Arr:
    """f32 sum."""
    if ftz:
        a, b = ftz32(a), ftz32(b)
    if mode == RN:
        return finish32(a.view(_F32) + b.view(_F32), ftz, sat)
    x, y = a.view(_F32).astype(_F64), b.view(_F32).astype(_F64)
    s, e = two_sum(x, y)
    s = _zero_sign(to_odd(s, e), x, y, mode)
    return finish32(round_f64_to_f32(s, mode), ftz, sat)


def fmul32(a: Arr, b: Arr, mode: int = RN, ftz: bool = False, sat: bool = False, scale: float = 1.0) -> Arr:
    """f32 product times a power of two (`scale`), with one rounding."""
    if ftz:
        a, b = ftz32(a), ftz32(b)
    if mode == RN and scale == 1.0:
        return finish32(a.view(_F32) * b.view(_F32), ftz, sat)
    p = a.view(_F32).astype(_F64) * b.view(_F32).astype(_F64)
    if scale != 1.0:
        p = p * scale
    return finish32(round_f64_to_f32(p, mode), ftz, sat)


def fma32(a: Arr, b: Arr, c: Arr, mode: int = RN, ftz: bool = False, sat: bool = False, scale: float = 1.0) -> Arr:
    """f32 ``a * b * scale + c`` with one rounding; the scale is a power of two."""
    if ftz:
        a, b, c = ftz32(a), ftz32(b), ftz32(c)
    p = a.view(_F32).astype(_F64) * b.view(_F32).astype(_F64)
    if scale != 1.0:
        p = p * scale
    z = c.view(_F32).astype(_F64)
    s = p + z
    if mode == RN:
        # Two roundings differ from one only next to a tie of the second rounding, or among denormals.
        bits = s.view(_U64)
        tie = (bits & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
        small = (bits & np.uint64(0x7FFFFFFFFFFFFFFF)) < np.uint64(0x3810000000000000)
        if (tie | (small & (s != 0))).any():
            s = to_odd(*two_sum(p, z))
        return finish32(s.astype(_F32), ftz, sat)
    s = _zero_sign(to_odd(*two_sum(p, z)), p, z, mode)
    return finish32(round_f64_to_f32(s, mode), ftz, sat)


def _canonical(bits: Arr) -> Arr:
    """Words of f32 with NaNs replaced by that of the hardware, in place."""
    f = bits.view(_F32)
    nan = f != f
    if nan.any():
        bits[nan] = NAN32
    return bits


def plain_sum(a: Arr, b: Arr, out: Arr | None = None) -> Arr:
    """:func:`fadd32` without modifiers, into `out` if given."""
    if out is None:
        return fadd32(a, b)
    np.add(a.view(_F32), b.view(_F32), out=out.view(_F32))
    return _canonical(out)


def plain_product(a: Arr, b: Arr, out: Arr | None = None) -> Arr:
    """:func:`fmul32` without modifiers, into `out` if given."""
    if out is None:
        return fmul32(a, b)
    np.multiply(a.view(_F32), b.view(_F32), out=out.view(_F32))
    return _canonical(out)


class _Scratch(threading.local):
    """Arrays for intermediate results, used again because fresh ones of this size cost more than the arithmetic."""

    def __init__(self) -> None:
        self.x, self.y, self.bits, self.size = np.empty(0), np.empty(0), np.empty(0, _U32), np.empty(0, _U32)

    def of(self, n: int) -> tuple[Arr, Arr, Arr, Arr]:
        """Two arrays of `n` f64 values, and two of words."""
        if len(self.x) < n:
            self.x, self.y = np.empty((2, n), _F64)
            self.bits, self.size = np.empty((2, n), _U32)
        return self.x[:n], self.y[:n], self.bits[:n], self.size[:n]


_scratch: Final = _Scratch()
_TIE: Final = -(1 << 63)
_LEAST: Final = np.uint32((1 << 24) + 2)
"""The pattern after that of the least normal number, without the sign."""
_INFINITE: Final = 0xFF000000 - int(_LEAST)
_NORMAL: Final = 2.0**-126
"""The least normal magnitude of f32."""


def plain_fma(a: Arr, b: Arr, c: Arr, out: Arr | None = None) -> Arr:
    """:func:`fma32` without modifiers, into `out` if given."""
    if out is None:
        return fma32(a, b, c)
    s, t, bits, size = _scratch.of(len(out))
    np.copyto(s, a.view(_F32))
    np.copyto(t, b.view(_F32))
    np.multiply(s, t, out=s)
    np.copyto(t, c.view(_F32))
    np.add(s, t, out=s)
    np.copyto(bits.view(_F32), s, casting="same_kind")
    # What fma32 looks at: a tie of the second rounding has a one and 28 zeros at the end; and results smaller than normal ones.
    rest = np.left_shift(s.view(_I64), 35, out=t.view(_I64))
    np.left_shift(bits, 1, out=size)
    np.subtract(size, _LEAST, out=size)
    odd = np.maximum.reduce(size) > _INFINITE  # NaNs, zeros, and all up to the least normal number
    if np.minimum.reduce(rest) == _TIE or (odd and ((np.abs(s) < _NORMAL) & (s != 0)).any()):
        out[:] = fma32(a, b, c)
        return out
    out[:] = bits
    return _canonical(out) if odd else out


def fma_values(x: Arr, y: Arr, z: Arr) -> Arr:
    """``x * y + z`` of f64 values with an exact product (f16, bf16 operands), rounded to odd for a later rounding."""
    return to_odd(*two_sum(x * y, z))


def finish64(x: Arr) -> Arr:
    """f64 values as patterns with the canonical NaN."""
    bits = x.view(_U64)
    nan = x != x
    if nan.any():
        bits = np.where(nan, NAN64, bits)
    return bits


def _directed64(s: Arr, e: Arr, mode: int) -> Arr:
    """``s + e`` (s rounded to nearest, e its error), rounded in a directed mode."""
    if mode == RM:
        return np.where(e < 0, np.nextafter(s, -np.inf), s)
    if mode == RP:
        return np.where(e > 0, np.nextafter(s, np.inf), s)
    return np.where((e != 0) & ((e > 0) != (s > 0)), np.nextafter(s, 0.0), s)


def dadd64(a: Arr, b: Arr, mode: int = RN) -> Arr:
    """f64 sum."""
    x, y = a.view(_F64), b.view(_F64)
    if mode == RN:
        return finish64(x + y)
    one = np.broadcast_to(np.float64(1.0).view(_U64), np.broadcast_shapes(a.shape, b.shape))
    return dfma64(a, one, b, mode)


def dmul64(a: Arr, b: Arr, mode: int = RN) -> Arr:
    """f64 product."""
    x, y = a.view(_F64), b.view(_F64)
    p = x * y
    if mode == RN:
        return finish64(p)
    zero = np.where(np.signbit(p), -0.0, 0.0).view(_U64)
    return dfma64(a, b, zero, mode)


_LOW: Final = 1023 - 400
_HIGH: Final = 1023 + 400


_STEP: Final = 2048
"""Products that are computed together: so many that all steps stay in the processor's cache."""
_SMALL: Final = 2.0**-900
_BIG: Final = 2.0**450


class _Steps(threading.local):
    """Arrays for what :func:`_fused` computes."""

    def __init__(self) -> None:
        self.rows = np.empty((8, _STEP), _F64)


_steps: Final = _Steps()


def _fused(x: Arr, y: Arr, z: Arr, r: Arr) -> bool:
    """Puts ``x * y + z`` with one rounding to nearest into `r`; False if an operand or product is too large or too small.

    With the exact errors of the product and of the sum, ``s + (a + e)`` is the result.  The inner sum is rounded too, which
    matters only where the outer one is a tie: those are computed again.
    """
    for operand, bound in ((x, _BIG), (y, _BIG), (z, _BIG * _BIG)):
        if not (-bound < operand.min() and operand.max() < bound):
            return False
    p, e, s, a, w, t, u, v = _steps.rows[:, : len(x)]
    np.multiply(x, y, out=p)
    if np.abs(p, out=t).min() < _SMALL and ((t < _SMALL) & (x != 0) & (y != 0)).any():
        return False
    for factor, high in ((x, t), (y, u)):
        np.multiply(factor, 134217729.0, out=s)
        np.subtract(s, factor, out=high)
        np.subtract(s, high, out=high)
    np.subtract(x, t, out=v)
    np.subtract(y, u, out=w)
    np.multiply(t, u, out=e)
    e -= p
    for first, second in ((t, w), (v, u), (v, w)):
        np.multiply(first, second, out=a)
        e += a
    _exact_sum(p, z, s, a, t)
    _exact_sum(a, e, w, u, t)  # `u` is what the inner sum lost
    np.add(s, w, out=r)
    np.subtract(r, s, out=t)
    np.subtract(w, t, out=t)  # what the outer sum lost
    t += t
    np.add(r, t, out=v)
    v -= r
    again = (v == t) & (t != 0) & (u != 0)  # halfway between two values
    if again.any():
        k = np.flatnonzero(again)
        r[k] = _dfma64(x[k].view(_U64), y[k].view(_U64), z[k].view(_U64), RN).view(_F64)
    zero = r == 0
    if zero.any():
        np.copyto(r, s, where=zero)  # with its sign
    return True


def _exact_sum(x: Arr, y: Arr, s: Arr, e: Arr, t: Arr) -> None:
    """:func:`two_sum` into `s` and `e`; `t` is used too."""
    np.add(x, y, out=s)
    np.subtract(s, x, out=t)
    np.subtract(s, t, out=e)
    np.subtract(x, e, out=e)
    np.subtract(y, t, out=t)
    e += t


def dfma64(a: Arr, b: Arr, c: Arr, mode: int = RN) -> Arr:
    """f64 fused multiply-add with one rounding."""
    if mode != RN:
        return _dfma64(a, b, c, mode)
    a, b, c = np.broadcast_arrays(a, b, c)
    out = np.empty(len(a), _U64)
    for i in range(0, len(out), _STEP):
        part = slice(i, i + _STEP)
        x, y, z = a[part], b[part], c[part]
        if not _fused(x.view(_F64), y.view(_F64), z.view(_F64), out[part].view(_F64)):
            out[part] = _dfma64(x, y, z, RN)
    return out


def _dfma64(a: Arr, b: Arr, c: Arr, mode: int) -> Arr:
    """:func:`dfma64` for all operands and modes.

    Vector path: the product as an exact pair, and the addend merged with an odd-rounded tail (Boldo and Melquiond's
    scheme).  It is valid while all exponents stay within 2**-400 .. 2**400; exact integers handle the other operands.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    x, y, z = a.view(_F64), b.view(_F64), c.view(_F64)
    plain = x * y + z
    ea, eb, ec = [((v.view(_U64) >> np.uint64(52)) & np.uint64(0x7FF)).astype(_I64) for v in (a, b, c)]
    good = (ea > _LOW) & (ea < _HIGH) & (eb > _LOW) & (eb < _HIGH) & (((ec > _LOW) & (ec < _HIGH)) | (z == 0))
    uh, ul = two_prod(x, y)
    th, tl = two_sum(z, ul)
    vh, vl = two_sum(uh, th)
    tail = to_odd(*two_sum(tl, vl))
    s, e = two_sum(vh, tail)
    if mode != RN:
        s = _directed64(s, e, mode)
        s = np.where(s == 0, _zero_sign(np.where(s == 0, uh + z, s), uh, z, mode), s)
    # An exact zero keeps the sign that plain arithmetic gives it.
    if mode == RN:
        s = np.where(s == 0, plain, s)
    result = finish64(np.where(good, s, plain))
    if good.all():
        return result
    # Products with a zero or an infinity, and NaNs, are exact in plain arithmetic.
    special = ~np.isfinite(x) | ~np.isfinite(y) | np.isnan(z) | (((x == 0) | (y == 0)) & (mode == RN))
    addend = np.isfinite(x) & np.isfinite(y) & np.isinf(z)
    result = np.where(addend, c, result)
    for i in np.flatnonzero(~(good | special | addend)):
        result[i] = ieee.fma(ieee.F64, int(a[i]), int(b[i]), int(c[i]), mode)
    return result


def int_to_f64_pair(high: Arr, low: Arr, signed: bool) -> tuple[Arr, Arr]:
    """A 64-bit integer given as uint32 words: the nearest f64 value and its exact error."""
    h = high.view(np.int32).astype(_F64) if signed else high.astype(_F64)
    return two_sum(h * 4294967296.0, low.astype(_F64))


def round_pair_to_f64(s: Arr, e: Arr, mode: int) -> Arr:
    """``s + e`` rounded to an f64 value."""
    return s if mode == RN else _directed64(s, e, mode)
