"""Exact arithmetic on bit patterns of the PTX float types, with fractions: what every instruction form must give.

A result is a bit pattern, or an :class:`Answer` where PTX allows several (NaN payloads, approximations).
"""

from collections.abc import Callable
from fractions import Fraction


class Fmt:
    """An IEEE format by exponent and mantissa width."""

    def __init__(self, name: str, ebits: int, mbits: int) -> None:
        self.name = name
        self.e = ebits
        self.m = mbits
        self.bits = 1 + ebits + mbits
        self.bias = (1 << (ebits - 1)) - 1
        self.sign = 1 << (ebits + mbits)
        self.inf = ((1 << ebits) - 1) << mbits
        self.nan = self.inf | 1 << (mbits - 1)
        self.max = self.inf - 1
        self.min_normal = 1 << mbits
        self.one = self.bias << mbits


F16 = Fmt("f16", 5, 10)
BF16 = Fmt("bf16", 8, 7)
F32 = Fmt("f32", 8, 23)
F64 = Fmt("f64", 11, 52)
FMT = {f.name: f for f in (F16, BF16, F32, F64)}


class Answer:
    """A set of right results: `ok` says whether a bit pattern is one."""

    def __init__(self, ok: Callable[[int], bool], text: str) -> None:
        self.ok = ok
        self.text = text

    def __repr__(self) -> str:
        return self.text


Expected = int | Answer


def is_nan(x: int, f: Fmt) -> bool:
    return x & ~f.sign > f.inf


def any_nan(f: Fmt) -> Answer:
    """Any NaN of the format."""
    return Answer(lambda x: is_nan(x, f), "NaN")


def one_of(*values: int) -> Answer:
    """One of a few patterns."""
    return Answer(lambda x: x in values, " or ".join(hex(v) for v in values))


def value(x: int, f: Fmt) -> Fraction:
    """The number of a finite pattern."""
    e = x >> f.m & ((1 << f.e) - 1)
    m = x & ((1 << f.m) - 1)
    mag = Fraction(m if e == 0 else m | 1 << f.m) * Fraction(2) ** (max(e, 1) - f.bias - f.m)
    return -mag if x & f.sign else mag


def is_inf(x: int, f: Fmt) -> bool:
    return x & ~f.sign == f.inf


def flush(x: int, f: Fmt) -> int:
    """Subnormals as zeros of their sign."""
    return x & f.sign if x & ~f.sign < f.min_normal else x


def integral(v: Fraction, mode: str) -> int:
    """A number rounded to an integer (rn, rz, rm, rp)."""
    low = v.numerator // v.denominator
    rest = v - low
    if rest == 0:
        return low
    if mode == "rm" or (mode == "rz" and v > 0):
        return low
    if mode == "rp" or mode == "rz":
        return low + 1
    if rest == Fraction(1, 2):
        return low + (low & 1)
    return low + (1 if rest > Fraction(1, 2) else 0)


def rounded(v: Fraction, f: Fmt, mode: str = "rn", zero_sign: int = 0) -> int:
    """The pattern of a number rounded to the format; `zero_sign` is the sign of an exact zero."""
    if v == 0:
        return f.sign if zero_sign else 0
    sign = f.sign if v < 0 else 0
    mag = abs(v)
    e = mag.numerator.bit_length() - mag.denominator.bit_length()
    if mag < Fraction(2) ** e:
        e -= 1
    e = max(e, 1 - f.bias)
    unit = Fraction(2) ** (e - f.m)
    direction = mode
    if sign:
        direction = {"rm": "rp", "rp": "rm"}.get(mode, mode)
    q = integral(mag / unit, direction)
    bits = q + ((e + f.bias - 1) << f.m)
    if bits >= f.inf:
        to_inf = direction in ("rn", "rp")
        return sign | (f.inf if to_inf else f.max)
    return sign | bits


class Op:
    """One arithmetic operation with its modifiers."""

    def __init__(self, f: Fmt, mode: str = "rn", ftz: bool = False, sat: bool = False, relu: bool = False) -> None:
        self.f = f
        self.mode = mode
        self.ftz = ftz
        self.sat = sat
        self.relu = relu

    def _in(self, x: int) -> int:
        return flush(x, self.f) if self.ftz else x

    def finish(self, v: Fraction, zero_sign: int = 0) -> Expected:
        """Round, flush, saturate an exact finite result."""
        f = self.f
        r = rounded(v, f, self.mode, zero_sign)
        if self.ftz and v != 0:
            limit = Fraction(2) ** (1 - f.bias)
            if abs(v) < limit and r & ~f.sign >= f.min_normal:
                # Tiny before rounding, normal after: either reading of "subnormal result" will do.
                return one_of(self.clamp(r), self.clamp(r & f.sign))
            r = flush(r, f)
        return self.clamp(r)

    def clamp(self, r: int) -> int:
        """Saturation to [0, 1] and relu."""
        f = self.f
        if self.sat:
            if is_nan(r, f) or r & f.sign:
                return 0
            return min(r, f.one)
        if self.relu and r & f.sign:
            return 0
        return r

    def special(self, r: int) -> Expected:
        """An infinite or NaN result."""
        if is_nan(r, self.f):
            return (
                0
                if self.sat
                else Answer(lambda x: x == self.f.nan | (1 << self.f.m - 1) - 1 or is_nan(x, self.f), "NaN")
            )
        return self.clamp(r)

    def fma(self, a: int, b: int, c: int) -> Expected:
        """a * b + c."""
        f = self.f
        a, b, c = self._in(a), self._in(b), self._in(c)
        psign = (a ^ b) & f.sign
        if is_nan(a, f) or is_nan(b, f) or is_nan(c, f):
            return self.special(f.nan)
        if is_inf(a, f) or is_inf(b, f):
            if a & ~f.sign == 0 or b & ~f.sign == 0 or (is_inf(c, f) and c & f.sign != psign):
                return self.special(f.nan)
            return self.special(psign | f.inf)
        if is_inf(c, f):
            return self.special(c)
        product = value(a, f) * value(b, f)
        total = product + value(c, f)
        zero = 1 if self.mode == "rm" else 0
        if product == 0 and c & ~f.sign == 0 and psign == c & f.sign:
            zero = 1 if psign else 0
        return self.finish(total, zero)

    def add(self, a: int, b: int) -> Expected:
        """a + b."""
        return self.fma(a, self.f.one, b)

    def sub(self, a: int, b: int) -> Expected:
        """a - b."""
        return self.fma(a, self.f.one, b ^ self.f.sign)

    def mul(self, a: int, b: int) -> Expected:
        """a * b."""
        f = self.f
        sign = (a ^ b) & f.sign
        return self.fma(a, b, sign)

    def div(self, a: int, b: int) -> Expected:
        """a / b."""
        f = self.f
        a, b = self._in(a), self._in(b)
        sign = (a ^ b) & f.sign
        if is_nan(a, f) or is_nan(b, f) or (is_inf(a, f) and is_inf(b, f)) or (not a & ~f.sign and not b & ~f.sign):
            return self.special(f.nan)
        if is_inf(a, f) or b & ~f.sign == 0:
            return self.special(sign | f.inf)
        if is_inf(b, f):
            return self.clamp(sign)
        return self.finish(value(a, f) / value(b, f), 1 if sign else 0)

    def sqrt(self, a: int) -> Expected:
        """sqrt(a)."""
        f = self.f
        a = self._in(a)
        if a & ~f.sign == 0 or a == f.inf:
            return a
        if is_nan(a, f) or a & f.sign:
            return self.special(f.nan)
        return self.finish(root(value(a, f), 4 * f.m))

    def minmax(self, a: int, b: int, low: bool, nan: bool = False, xorsign: bool = False) -> Expected:
        """min or max; `nan` propagates NaN, `xorsign` compares magnitudes and gives the product's sign."""
        f = self.f
        a, b = self._in(a), self._in(b)
        sign = 0
        if xorsign:
            sign = (a ^ b) & f.sign
            a, b = a & ~f.sign, b & ~f.sign
        if is_nan(a, f) or is_nan(b, f):
            if nan or (is_nan(a, f) and is_nan(b, f)):
                return any_nan(f)
            return (b if is_nan(a, f) else a) | sign
        return (min if low else max)((a, b), key=lambda x: order(x, f)) | sign


def order(x: int, f: Fmt) -> int:
    """A number that sorts patterns by value, -0 below +0."""
    return -(x & ~f.sign) - 1 if x & f.sign else x


def root(v: Fraction, bits: int) -> Fraction:
    """The square root with that many good bits; inexact ones are never exact in fewer bits."""
    from math import isqrt

    shift = 2 * (bits + 1100)
    n = (v.numerator << shift) // v.denominator
    r = isqrt(n)
    exact = r * r == n and (v.numerator << shift) % v.denominator == 0
    half = Fraction(1, 2) if not exact else Fraction(0)
    return (Fraction(r) + half) / Fraction(2) ** (shift // 2)


def compare(a: int, b: int, f: Fmt, cmp: str, ftz: bool = False) -> bool:
    """One of the 14 float comparisons."""
    if ftz:
        a, b = flush(a, f), flush(b, f)
    unordered = is_nan(a, f) or is_nan(b, f)
    if cmp == "num":
        return not unordered
    if cmp == "nan":
        return unordered
    if unordered:
        return cmp.endswith("u") and cmp != "u"
    x = 0 if a & ~f.sign == 0 else order(a, f)
    y = 0 if b & ~f.sign == 0 else order(b, f)
    base = cmp[:2]
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[base]


def float_to_int(
    x: int, f: Fmt, mode: str, bits: int, signed: bool, ftz: bool = False, nan_min: bool = False
) -> Expected:
    """cvt to an integer: saturating; a NaN is 0, or with `nan_min` possibly the least pattern with the top bit set."""
    if ftz:
        x = flush(x, f)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if is_nan(x, f):
        return one_of(0, 1 << (bits - 1)) if nan_min else 0
    if is_inf(x, f):
        v = low if x & f.sign else high
    else:
        v = min(max(integral(value(x, f), mode), low), high)
    return v & ((1 << bits) - 1)


def near(v: Fraction, f: Fmt, relative: Fraction, absolute: Fraction = Fraction(0), ftz: bool = False) -> Answer:
    """Within an error bound of a number; a subnormal unit and flushing are allowed for."""
    slack = abs(v) * relative + absolute + Fraction(2) ** (2 - f.bias - f.m)

    def ok(x: int) -> bool:
        if is_nan(x, f):
            return False
        if is_inf(x, f):
            return abs(v) + slack >= value(f.max, f) and (x & f.sign != 0) == (v < 0)
        if ftz and x & ~f.sign == 0:
            return abs(v) < Fraction(2) ** (1 - f.bias) + slack
        return abs(value(x, f) - v) <= slack

    return Answer(ok, f"{float(v)!r} within {float(slack)!r}")


def to_signed(x: int, bits: int) -> int:
    """A pattern as a two's complement number."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x
