"""Matrices of the warp instructions: where PTX's documents put each element, and products of exact numbers.

Written from the documents alone, without a look at the simulator's layouts.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction

from tests.forms.exact import F16, F32, FMT, Answer, Expected, any_nan, is_inf, is_nan, rounded, value

BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8, "s32": 32,
}  # fmt: skip


@functools.cache
def elements_a(m: int, k: int, bits: int) -> list[list[tuple[int, int]]]:
    """(row, k) of every element of lane after lane, in the order of the registers, lowest bits first."""
    per = max(1, 32 // bits)
    tall = m == 16
    count = m * k // 32
    out = []
    for lane in range(32):
        group, within = lane >> 2, lane & 3
        places = []
        for e in range(count):
            register, field = divmod(e, per)
            row = group + (8 * (register & 1) if tall else 0)
            block = register >> 1 if tall else register
            places.append((row, per * within + field + 4 * per * block))
        out.append(places)
    return out


@functools.cache
def elements_b(k: int, n: int, bits: int) -> list[list[tuple[int, int]]]:
    """(k, column) of every element of lane after lane."""
    per = max(1, 32 // bits)
    out = []
    for lane in range(32):
        group, within = lane >> 2, lane & 3
        out.append([(per * within + e % per + 4 * per * (e // per), group) for e in range(k * n // 32)])
    return out


@functools.cache
def elements_c(m: int, n: int) -> list[list[tuple[int, int]]]:
    """(row, column) of every accumulator of lane after lane."""
    out = []
    for lane in range(32):
        group, within = lane >> 2, lane & 3
        out.append([(group + 8 * (e >> 1), 2 * within + (e & 1)) for e in range(m * n // 32)])
    return out


@functools.cache
def quad_elements(layout_by_k: bool) -> list[list[tuple[int, int, int]]]:
    """(pair of quads, row, k) of the four factors of every lane of A of m8n8k4 (for B: column for row)."""
    out = []
    for lane in range(32):
        pair, at, upper = lane >> 2 & 3, lane & 3, 4 * (lane >> 4)
        out.append([(pair, at + upper, i) if layout_by_k else (pair, i + upper, at) for i in range(4)])
    return out


@functools.cache
def quad_results(f32: bool) -> list[list[tuple[int, int, int]]]:
    """(pair of quads, row, column) of the eight results of every lane of m8n8k4."""
    out = []
    for lane in range(32):
        pair, upper = lane >> 2 & 3, 4 * (lane >> 4)
        if f32:
            out.append([(pair, (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)) for i in range(8)])
        else:
            out.append([(pair, (lane & 3) + upper, i) for i in range(8)])
    return out


def pack(patterns: Sequence[int], bits: int) -> list[int]:
    """Elements as 32-bit registers (64-bit ones stay)."""
    if bits == 64:
        return list(patterns)
    per = 32 // bits
    return [sum(x << bits * j for j, x in enumerate(patterns[r : r + per])) for r in range(0, len(patterns), per)]


def registers(elements: int, bits: int) -> int:
    """How many registers :func:`pack` fills."""
    return elements if bits == 64 else -(-elements * bits // 32)


def number(x: int, type_: str) -> Fraction | str:
    """The number of a pattern, or "nan", "inf", "-inf"."""
    if type_[0] in "su" and type_ != "s32":
        bits = BITS[type_]
        return Fraction(x - (1 << bits) if type_[0] == "s" and x >> (bits - 1) else x)
    if type_ == "tf32":
        x &= 0xFFFFE000
        type_ = "f32"
    if type_ in ("e4m3", "e5m2"):
        mantissa = 3 if type_ == "e4m3" else 2
        e, f = x >> mantissa & (15 if mantissa == 3 else 31), x & (1 << mantissa) - 1
        if type_ == "e4m3" and x & 0x7F == 0x7F:
            return "nan"
        if type_ == "e5m2" and e == 31:
            return "nan" if f else "-inf" if x & 0x80 else "inf"
        magnitude = Fraction(f + (1 << mantissa if e else 0)) * Fraction(2) ** (
            max(e, 1) - (7 if mantissa == 3 else 15) - mantissa
        )
        return -magnitude if x & 0x80 else magnitude
    f = FMT[type_]
    if is_nan(x, f):
        return "nan"
    if is_inf(x, f):
        return "-inf" if x & f.sign else "inf"
    return value(x, f)


_UNIT = 1 << 149
"""Finite numbers of all types but f64 are multiples of 1 / _UNIT."""


@functools.lru_cache(maxsize=1 << 17)
def _units(x: int, type_: str) -> int | str:
    """The number of a pattern in units, or "nan", "inf", "-inf"."""
    v = number(x, type_)
    return v if isinstance(v, str) else int(v * _UNIT)


def _times(x: int | str, y: int | str) -> int | str:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    if "nan" in (x, y) or 0 in (x, y):
        return "nan"
    negative = sum(v == "-inf" or (isinstance(v, int) and v < 0) for v in (x, y)) == 1
    return "-inf" if negative else "inf"


def float_sum(
    terms: Sequence[tuple[int, int]], types: tuple[str, str], c: int, c_type: str, d_type: str, steps: bool = False
) -> Expected:
    """The sum of products and an accumulator as an f32 or f16, within the bound that docs/simulator.md states.

    Every product is exact; each of the n + 1 addends may lose 2**-22 of the largest one's magnitude, then the result is rounded.  For
    8-bit factors and f16 results, and with `steps`, partial sums may have been rounded to f16 too.
    """
    addends = [_times(_units(x, types[0]), _units(y, types[1])) for x, y in terms]
    addends.append(_times(_units(c, c_type), _UNIT))
    f = F32 if d_type == "f32" else F16
    special = {v for v in addends if isinstance(v, str)}
    if "nan" in special or len(special) == 2:
        return any_nan(f)
    if special:
        return f.inf if "inf" in special else f.inf | f.sign
    exact = [v for v in addends if isinstance(v, int)]
    total = Fraction(sum(exact), _UNIT * _UNIT)
    largest = max(abs(v) for v in exact)
    slack = Fraction(largest * len(exact), (1 << 22) * _UNIT * _UNIT)
    if d_type == "f16" and (steps or types[0] in ("e4m3", "e5m2")):
        slack += Fraction(sum(abs(v) for v in exact), 1024 * _UNIT * _UNIT)
    low, high = rounded(total - slack, f, "rm"), rounded(total + slack, f, "rp")

    def ok(x: int) -> bool:
        if is_nan(x, f):
            return False
        if x & ~f.sign == 0:
            return total - slack <= 0 <= total + slack or (low & ~f.sign <= 1 or high & ~f.sign <= 1)
        return _order(low, f.sign) <= _order(x, f.sign) <= _order(high, f.sign)

    return Answer(ok, f"{low:#x} to {high:#x}")


def _order(x: int, sign: int) -> int:
    return -(x & ~sign) if x & sign else x


def integer_sum(
    terms: Sequence[tuple[int, int]], types: tuple[str, str], c: int, saturate: bool, exclusive: bool
) -> int:
    """A 32-bit sum; for b1 the count of ones of the and (or the exclusive or)."""
    total = c - (1 << 32) if c >> 31 else c
    if types[0] == "b1":
        total += sum(x ^ y if exclusive else x & y for x, y in terms)
    else:
        for x, y in terms:
            product = number(x, types[0]) * number(y, types[1])  # type: ignore[operator]
            total += int(product)  # type: ignore[arg-type]
    if saturate:
        total = max(-(1 << 31), min((1 << 31) - 1, total))
    return total & 0xFFFFFFFF


def kept(meta: Sequence[int], row: int, element: int, count: int, bits: int, selector: int) -> int:
    """The k of an element kept of a sparse A: row, number among the `count` kept of its row.

    16-bit types: each lane of the quad that the selector names has 16 k of row g in its lower half, of row g + 8 in its upper half;
    tf32: the same with two indices an element; 8-bit types and pairs of 4-bit ones: a lane has 32 bytes of one row.
    """
    group = row & 7
    if bits >= 16:
        units = 2 if bits == 32 else 1
        unit = element * units
        words = count * units // 8
        lane = 4 * group + words * selector + unit // 8
        index = meta[lane] >> (16 * (row >> 3) + 2 * (unit % 8)) & 3
        return 2 * element + (index >> 1) if bits == 32 else 4 * (unit // 2) + index
    unit = element if bits == 8 else element // 2
    lane = 4 * group + 2 * (selector + unit // 16) + (row >> 3)
    index = meta[lane] >> 2 * (unit % 16) & 3
    place = 4 * (unit // 2) + index
    return place if bits == 8 else 2 * place + element % 2
