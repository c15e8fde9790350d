"""IEEE arithmetic on bit patterns in exact integers: one rounding per operation, in any mode, for any binary format.

A pattern is a non-negative ``int`` of the format's width.  NaN results are those of the hardware (:attr:`Format.nan`).
The simulator's vector code (``orias.sim.math.softfloat``) computes the same functions, is tested against this module,
and calls it for functions that do not vectorise.
"""

from math import isqrt
from typing import Final, final

RN: Final = 0
RM: Final = 1
"""Rounding towards minus infinity."""
RP: Final = 2
"""Rounding towards plus infinity."""
RZ: Final = 3


@final
class Format:
    """A binary format by the widths of exponent and fraction; ``nan`` is the NaN that arithmetic returns."""

    __slots__ = ("bits", "ebits", "emin", "inf", "magnitude", "mbits", "min_normal", "nan", "one", "sign")

    def __init__(self, ebits: int, mbits: int, nan: int) -> None:
        self.ebits: Final[int] = ebits
        self.mbits: Final[int] = mbits
        self.bits: Final[int] = 1 + ebits + mbits
        self.sign: Final[int] = 1 << (ebits + mbits)
        self.magnitude: Final[int] = self.sign - 1
        self.inf: Final[int] = ((1 << ebits) - 1) << mbits
        self.nan: Final[int] = nan
        self.min_normal: Final[int] = 1 << mbits
        bias = (1 << (ebits - 1)) - 1
        self.one: Final[int] = bias << mbits
        self.emin: Final[int] = 1 - bias - mbits
        """Exponent of the unit in the last place of subnormal numbers."""


F16: Final = Format(5, 10, 0x7FFF)
BF16: Final = Format(8, 7, 0x7FFF)
F32: Final = Format(8, 23, 0x7FFFFFFF)
F64: Final = Format(11, 52, 0xFFF8000000000000)


def is_nan(f: Format, x: int) -> bool:
    """True for a NaN."""
    return x & f.magnitude > f.inf


def is_inf(f: Format, x: int) -> bool:
    """True for an infinity."""
    return x & f.magnitude == f.inf


def flush(f: Format, x: int) -> int:
    """Replace a subnormal number by the zero of its sign."""
    return x & f.sign if x & f.inf == 0 else x


def saturate(f: Format, x: int) -> int:
    """Clamp to [0, 1]; NaN and everything up to -0 become +0."""
    if is_nan(f, x) or x & f.sign:
        return 0
    return min(x, f.one)


def finish(f: Format, x: int, ftz: bool, sat: bool) -> int:
    """Flush (`ftz`) and saturate (`sat`) a result."""
    if ftz:
        x = flush(f, x)
    return saturate(f, x) if sat else x


def parts(f: Format, x: int) -> tuple[int, int]:
    """(signed significand, exponent of its unit in the last place) of a finite pattern."""
    m = x & (f.min_normal - 1)
    e = (x & f.inf) >> f.mbits
    if e:
        m |= f.min_normal
        e -= 1
    return (-m if x & f.sign else m), e + f.emin


def round_exact(f: Format, m: int, e: int, mode: int) -> int:
    """``m * 2**e`` (m not zero), rounded to the format."""
    negative = m < 0
    m = abs(m)
    shift = max(m.bit_length() - f.mbits - 1, f.emin - e)
    if shift > 0:
        rest = m & ((1 << shift) - 1)
        m >>= shift
        e += shift
        half = 1 << (shift - 1)
        if mode == RN:
            m += rest > half or (rest == half and m & 1 == 1)
        else:
            m += rest != 0 and mode == (RM if negative else RP)
    else:
        m <<= -shift
        e += shift
    # A carry out of the fraction increments the exponent field, which is correct; m has the hidden bit of a normal number.
    bits = m + ((e - f.emin) << f.mbits)
    if bits >= f.inf:
        to_infinity = mode == RN or mode == (RM if negative else RP)
        bits = f.inf if to_infinity else f.inf - 1
    return bits | (f.sign if negative else 0)


def fma(f: Format, a: int, b: int, c: int, mode: int = RN, scale: int = 0, out: Format | None = None) -> int:
    """``a * b * 2**scale + c``, rounded to `out` (the operands' format if None)."""
    o = out or f
    if is_nan(f, a) or is_nan(f, b) or is_nan(f, c):
        return o.nan
    product_sign = (a ^ b) & f.sign
    if is_inf(f, a) or is_inf(f, b):
        if a & f.magnitude == 0 or b & f.magnitude == 0 or (is_inf(f, c) and c & f.sign != product_sign):
            return o.nan
        return o.inf | (o.sign if product_sign else 0)
    if is_inf(f, c):
        return o.inf | (o.sign if c & f.sign else 0)
    ma, ea = parts(f, a)
    mb, eb = parts(f, b)
    mc, ec = parts(f, c)
    mp, ep = ma * mb, ea + eb + scale
    e = min(ep, ec)
    total = (mp << (ep - e)) + (mc << (ec - e))
    if total:
        return round_exact(o, total, e, mode)
    if mp == 0 and mc == 0 and product_sign == c & f.sign:
        return o.sign if product_sign else 0
    return o.sign if mode == RM else 0


def add(f: Format, a: int, b: int, mode: int = RN, out: Format | None = None) -> int:
    """``a + b``, rounded to `out` (the operands' format if None)."""
    return fma(f, a, f.one, b, mode, 0, out)


def mul(f: Format, a: int, b: int, mode: int = RN, scale: int = 0) -> int:
    """``a * b * 2**scale``."""
    # A zero addend with the sign of the product keeps the sign of a zero product.
    return fma(f, a, b, (a ^ b) & f.sign, mode, scale)


def div(f: Format, a: int, b: int, mode: int = RN) -> int:
    """``a / b``."""
    sign = (a ^ b) & f.sign
    x, y = a & f.magnitude, b & f.magnitude
    if x > f.inf or y > f.inf or (x == y and x in (0, f.inf)):
        return f.nan
    if x == f.inf or y == 0:
        return f.inf | sign
    if x == 0 or y == f.inf:
        return sign
    ma, ea = parts(f, x)
    mb, eb = parts(f, y)
    shift = 2 * f.mbits + 4
    q, rest = divmod(ma << shift, mb)
    q = q << 1 | (rest != 0)
    return round_exact(f, -q if sign else q, ea - eb - shift - 1, mode)


def sqrt(f: Format, a: int, mode: int = RN) -> int:
    """The square root; of -0 it is -0."""
    if a & f.magnitude == 0 or a == f.inf:
        return a
    if is_nan(f, a) or a & f.sign:
        return f.nan
    m, e = parts(f, a)
    shift = 2 * f.mbits + 6
    shift += (e - shift) & 1
    m <<= shift
    root = isqrt(m)
    return round_exact(f, root << 1 | (root * root != m), (e - shift) // 2 - 1, mode)


def convert(source: Format, to: Format, x: int, mode: int = RN) -> int:
    """Convert a value to another format, rounded."""
    sign = to.sign if x & source.sign else 0
    if is_nan(source, x):
        return to.nan
    if is_inf(source, x):
        return to.inf | sign
    m, e = parts(source, x)
    return round_exact(to, m, e, mode) if m else sign


def integral(m: int, e: int, mode: int) -> int:
    """``m * 2**e`` rounded to an integer."""
    if e >= 0:
        return m << e
    low = m >> -e
    rest = m - (low << -e)
    half = 1 << (-e - 1)
    if mode == RM or rest == 0:
        return low
    if mode == RP:
        return low + 1
    if mode == RZ:
        return low + (m < 0)
    return low + (rest > half or (rest == half and low & 1 == 1))


def round_integral(f: Format, x: int, mode: int) -> int:
    """Round to an integral value of the format; a zero keeps the operand's sign."""
    if is_nan(f, x):
        return f.nan
    if is_inf(f, x):
        return x
    m, e = parts(f, x)
    n = integral(m, e, mode)
    return round_exact(f, n, 0, RN) if n else x & f.sign


def to_int(f: Format, x: int, bits: int, signed: bool, mode: int, nan_zero: bool) -> int:
    """Convert to a saturated integer, as a sign-extended 64-bit pattern; NaN gives zero or only the top bit of
    the type set."""
    if is_nan(f, x):
        return 0 if nan_zero else 1 << (bits - 1)
    low, high = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if is_inf(f, x):
        n = low if x & f.sign else high
    else:
        n = min(max(integral(*parts(f, x), mode), low), high)
    return n & 0xFFFFFFFFFFFFFFFF


def from_int(f: Format, n: int, mode: int = RN) -> int:
    """The integer `n` rounded to the format; zero is +0."""
    return round_exact(f, n, 0, mode) if n else 0


def order(f: Format, a: int, b: int) -> int | None:
    """-1, 0 or 1 if a is below, equal to or above b; None if they are unordered."""
    if is_nan(f, a) or is_nan(f, b):
        return None
    x = -(a & f.magnitude) if a & f.sign else a
    y = -(b & f.magnitude) if b & f.sign else b
    return (x > y) - (x < y)


_HOLDS: Final[dict[str, tuple[bool, bool, bool, bool]]] = {
    "F": (False, False, False, False), "LT": (True, False, False, False), "EQ": (False, True, False, False),
    "LE": (True, True, False, False), "GT": (False, False, True, False), "NE": (True, False, True, False),
    "GE": (False, True, True, False), "NUM": (True, True, True, False), "NAN": (False, False, False, True),
    "LTU": (True, False, False, True), "EQU": (False, True, False, True), "LEU": (True, True, False, True),
    "GTU": (False, False, True, True), "NEU": (True, False, True, True), "GEU": (False, True, True, True),
    "T": (True, True, True, True),
}  # fmt: skip
"""Comparison -> whether it holds for less, equal, greater, unordered."""


def compare(f: Format, name: str, a: int, b: int) -> bool:
    """One of the sixteen comparisons (``LT`` .. ``GEU``, ``NUM``, ``NAN``, ``T``, ``F``)."""
    o = order(f, a, b)
    return _HOLDS[name][3 if o is None else o + 1]


def is_comparison(name: str) -> bool:
    """True for the name of a comparison."""
    return name in _HOLDS


def prefers_first(f: Format, a: int, b: int, minimum: bool) -> bool:
    """True if the minimum (or maximum) of two values is the first: only the second is a NaN, or the first is smaller (larger)."""
    o = order(f, a, b)
    if o is None:
        return is_nan(f, b) and not is_nan(f, a)
    if o == 0:
        return (a & f.sign != 0) == minimum
    return (o < 0) == minimum


def minmax(f: Format, a: int, b: int, minimum: bool, nan: bool = False, xorsign: bool = False) -> int:
    """IEEE minimum or maximum: a number wins over a NaN (a NaN with `nan`), -0 is below +0; `xorsign` compares magnitudes and gives
    the result the product's sign."""
    sign = (a ^ b) & f.sign
    if xorsign:
        a, b = a & f.magnitude, b & f.magnitude
    x_nan, y_nan = is_nan(f, a), is_nan(f, b)
    if (x_nan or y_nan) and (nan or (x_nan and y_nan)):
        return f.nan
    r = a if y_nan or (not x_nan and prefers_first(f, a, b, minimum)) else b
    return r | sign if xorsign else r
