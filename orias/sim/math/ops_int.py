"""Integer operations on arrays of uint32 patterns, as the hardware defines them.

Pure functions: arrays in, arrays out; shapes broadcast.  "Pairs" are uint64 arrays.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Arr = npt.NDArray[Any]

U8: Final = np.dtype(np.uint8)
U16: Final = np.dtype(np.uint16)
U32: Final = np.dtype(np.uint32)
U64: Final = np.dtype(np.uint64)
I8: Final = np.dtype(np.int8)
I16: Final = np.dtype(np.int16)
I32: Final = np.dtype(np.int32)
I64: Final = np.dtype(np.int64)

_M32: Final = np.uint64(0xFFFFFFFF)
_S32: Final = np.uint64(32)


def neg(a: Arr) -> Arr:
    """Two's complement negation."""
    result: Arr = ~a + a.dtype.type(1)
    return result


def pair(low: Arr, high: Arr) -> Arr:
    """The uint64 with these words."""
    return (high.astype(U64) << _S32) | low


def words(x: Arr) -> tuple[Arr, Arr]:
    """The low and high words of a uint64."""
    return x.astype(U32), (x >> _S32).astype(U32)


def iadd3(values: list[Arr], negate: list[bool], carries: list[Arr]) -> tuple[Arr, Arr]:
    """Sum of three words with carries in; returns the sum and the carries out.  A negated word is its complement plus one."""
    if len(values) == 2 and not carries and not any(negate):
        a, b = values
        low = a + b
        return low, (low < (a if len(a) == len(low) else b)).view(U8)
    if len(values) == 2 and len(carries) == 1 and not any(negate):
        a, b = values
        c = carries[0]
        first = a + b
        total32 = first + c
        out: Arr = (first < (a if len(a) == len(first) else b)) | (total32 < c)
        return total32, out.view(U8)
    total = np.zeros(1, U64)
    extra = 0
    for v, n in zip(values, negate, strict=True):
        if n:
            total = total + ((~v).astype(U64) & _M32)
            extra += 1
        else:
            total = total + v
    if extra:
        total = total + np.uint64(extra)
    for c in carries:
        total = total + c.astype(U64)
    return total.astype(U32), (total >> _S32).astype(U32)


def mul_wide(a: Arr, b: Arr, signed: bool) -> Arr:
    """The 64-bit product of two words."""
    if signed:
        return (a.view(I32).astype(I64) * b.view(I32).astype(I64)).view(U64)
    return a.astype(U64) * b.astype(U64)


def shift_left64(v: Arr, s: Arr) -> Arr:
    """v << s for s up to 64."""
    s64 = s.astype(U64)
    return np.where(s64 < 64, v << (s64 & np.uint64(63)), np.uint64(0))


def shift_right64(v: Arr, s: Arr, signed: bool) -> Arr:
    """v >> s for s up to 64."""
    s64 = s.astype(U64)
    if signed:
        return (v.view(I64) >> np.minimum(s64, np.uint64(63)).astype(I64)).view(U64)
    return np.where(s64 < 64, v >> (s64 & np.uint64(63)), np.uint64(0))


def funnel(low: Arr, s: Arr, high: Arr, left: bool, wrap: bool, wide: bool, signed: bool, take_high: bool) -> Arr:
    """SHF: a word of the shifted 64-bit value {high, low}.

    With `wrap` the shift amount is taken modulo 32 (64 for the 64-bit types), otherwise it is clamped to that number.
    """
    limit = 64 if wide else 32
    n = s & np.uint32(limit - 1) if wrap else np.minimum(s, np.uint32(limit))
    v = pair(low, high)
    r = shift_left64(v, n) if left else shift_right64(v, n, signed)
    return (r >> _S32).astype(U32) if take_high else r.astype(U32)


def lop3(a: Arr, b: Arr, c: Arr, table: int) -> Arr:
    """Any bitwise function of three words; bit 4a+2b+c of the table is the result."""
    known = _LOP3.get(table)
    if known is not None:
        return known(a, b, c)
    r: Arr | None = None
    for i in range(8):
        if table >> i & 1:
            t = (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
            r = t if r is None else r | t
    return np.zeros(1, U32) if r is None else r


_LOP3: Final[dict[int, Callable[[Arr, Arr, Arr], Arr]]] = {
    0x00: lambda a, b, c: np.zeros(1, U32),
    0x33: lambda a, b, c: ~b,
    0x0F: lambda a, b, c: ~a,
    0x55: lambda a, b, c: ~c,
    0xF0: lambda a, b, c: a | np.uint32(0),
    0xCC: lambda a, b, c: b | np.uint32(0),
    0xAA: lambda a, b, c: c | np.uint32(0),
    0xC0: lambda a, b, c: a & b,
    0xFC: lambda a, b, c: a | b,
    0x3C: lambda a, b, c: a ^ b,
    0x30: lambda a, b, c: a & ~b,
    0x80: lambda a, b, c: a & b & c,
    0xFE: lambda a, b, c: a | b | c,
    0x96: lambda a, b, c: a ^ b ^ c,
    0xF8: lambda a, b, c: a | (b & c),
    0xEA: lambda a, b, c: (a & b) | c,
    0xCA: lambda a, b, c: (a & b) | (~a & c),
    0xE2: lambda a, b, c: (b & a) | (~b & c),
    0xB8: lambda a, b, c: (b & c) | (~b & a),
    0xFF: lambda a, b, c: np.full(1, 0xFFFFFFFF, U32),
}


def prmt(a: Arr, selector: Arr, b: Arr, mode: str) -> Arr:
    """Byte permutation of {b, a}; bit 3 of a selector nibble repeats the byte's sign.  Modes as in PTX ``prmt``."""
    v = pair(a, b)
    result = np.zeros(1, U32)
    s = selector
    first = s & np.uint32(3)
    for k in range(4):
        sign: Arr | None = None
        if mode == "":
            nibble = (s >> np.uint32(4 * k)) & np.uint32(15)
            index = nibble & np.uint32(7)
            sign = (nibble & np.uint32(8)) != 0
        elif mode == "F4E":
            index = first + np.uint32(k)
        elif mode == "B4E":
            index = (first - np.uint32(k)) & np.uint32(7)
        elif mode == "RC8":
            index = first
        elif mode == "ECL":
            index = np.maximum(first, np.uint32(k))
        elif mode == "ECR":
            index = np.minimum(first, np.uint32(k))
        else:
            index = (first & np.uint32(1)) * np.uint32(2) + np.uint32(k & 1)
        byte = ((v >> (index.astype(U64) << np.uint64(3))) & np.uint64(0xFF)).astype(U32)
        if sign is not None and sign.any():
            byte = np.where(sign, np.where(byte & np.uint32(0x80), np.uint32(0xFF), np.uint32(0)), byte)
        result = result | (byte << np.uint32(8 * k))
    return result


def bmsk(position: Arr, width: Arr, wrap: bool) -> Arr:
    """`width` ones from bit `position`; both modulo 32 with `wrap`, clamped to 32 otherwise."""
    if wrap:
        p, w = position & np.uint32(31), width & np.uint32(31)
    else:
        p, w = np.minimum(position, np.uint32(32)), np.minimum(width, np.uint32(32))
    ones = (np.uint64(1) << w.astype(U64)) - np.uint64(1)
    return (ones << p.astype(U64)).astype(U32)


def sgxt(a: Arr, width: Arr, signed: bool, wrap: bool) -> Arr:
    """The low `width` bits of a word, sign- or zero-extended; a width of 32 or more keeps the word."""
    w = width & np.uint32(31) if wrap else np.minimum(width, np.uint32(32))
    s = np.uint64(64) - w.astype(U64)
    shifted = shift_left64(a.astype(U64), s)
    return shift_right64(shifted, s, signed and True).astype(U32)


def flo(a: Arr, signed: bool, shift_amount: bool) -> Arr:
    """Position of the highest set bit (signed: of the highest bit unlike the sign), or 31 minus it; all ones if none."""
    v = np.where(a.view(I32) < 0, ~a, a) if signed else a
    # frexp of the exact f64 value gives the bit length
    length = np.frexp(v.astype(np.float64))[1].astype(U32)
    found = v != 0
    position = length - np.uint32(1)
    if shift_amount:
        position = np.uint32(31) - position
    return np.where(found, position, np.uint32(0xFFFFFFFF))


def popc(a: Arr) -> Arr:
    """Number of ones."""
    v = a - ((a >> np.uint32(1)) & np.uint32(0x55555555))
    v = (v & np.uint32(0x33333333)) + ((v >> np.uint32(2)) & np.uint32(0x33333333))
    v = (v + (v >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    result: Arr = (v * np.uint32(0x01010101)) >> np.uint32(24)
    return result


def brev(a: Arr) -> Arr:
    """The word with its bits in reverse order."""
    v = a
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        v = ((v >> np.uint32(shift)) & np.uint32(mask)) | ((v & np.uint32(mask)) << np.uint32(shift))
    return (v >> np.uint32(16)) | (v << np.uint32(16))


def iabs(a: Arr) -> Arr:
    """Absolute value; the most negative word stays."""
    return np.abs(a.view(I32)).view(U32)


def minmax(a: Arr, b: Arr, take_min: Arr, signed_type: np.dtype[Any] | None) -> Arr:
    """Minimum where the predicate holds, maximum elsewhere; patterns compare in `signed_type`, or as unsigned numbers."""
    if signed_type is not None:
        x, y = a.view(signed_type), b.view(signed_type)
        result: Arr = np.where(take_min, np.minimum(x, y), np.maximum(x, y)).view(a.dtype)
        return result
    return np.where(take_min, np.minimum(a, b), np.maximum(a, b))


def fields(a: Arr, bits: int, signed: bool) -> list[Arr]:
    """The fields of 8, 16 or 32 bits as int64 values, low first."""
    if bits == 32:
        return [(a.view(I32) if signed else a).astype(I64)]
    narrow, integer = (U8, I8) if bits == 8 else (U16, I16)
    out = []
    for k in range(32 // bits):
        f = (a >> np.uint32(bits * k)).astype(narrow)
        out.append((f.view(integer) if signed else f).astype(I64))
    return out


def join_fields(values: list[Arr], bits: int) -> Arr:
    """A word from fields taken modulo 2**bits."""
    word = np.zeros(1, U32)
    for k, v in enumerate(values):
        word = word | ((v & np.int64((1 << bits) - 1)).astype(U32) << np.uint32(bits * k))
    return word


def carryless(x: Arr, y: Arr, upper: bool) -> Arr:
    """The lower or upper 64 bits of the product of two 64-bit polynomials over GF(2)."""
    total: Arr = np.zeros(np.broadcast(x, y).shape, np.uint64)
    for k in range(64):
        term = x >> np.uint64(64 - k) if upper and k else x << np.uint64(k) if not upper else np.uint64(0) * x
        total = total ^ np.where(y >> np.uint64(k) & np.uint64(1), term, np.uint64(0))
    return total


def add_fields(a: Arr, b: Arr, bits: int) -> Arr:
    """Sums of the fields."""
    return join_fields([x + y for x, y in zip(fields(a, bits, False), fields(b, bits, False), strict=True)], bits)


def minmax_fields(a: Arr, b: Arr, take_min: Arr, bits: int, signed: bool) -> Arr:
    """:func:`minmax` on fields."""
    both = zip(fields(a, bits, signed), fields(b, bits, signed), strict=True)
    return join_fields([np.where(take_min, np.minimum(x, y), np.maximum(x, y)) for x, y in both], bits)


def absdiff(a: Arr, b: Arr, signed: bool) -> Arr:
    """|a - b| modulo 2**32."""
    if signed:
        return np.abs(a.view(I32).astype(I64) - b.view(I32).astype(I64)).astype(U32)
    return np.abs(a.astype(I64) - b.astype(I64)).astype(U32)


def absdiff4(a: Arr, b: Arr, c: Arr, signed: bool, accumulate: bool) -> Arr:
    """Byte-wise |a - b|; with `accumulate` their sum is added to `c`."""
    diffs = [np.abs(x - y) for x, y in zip(fields(a, 8, signed), fields(b, 8, signed), strict=True)]
    if accumulate:
        total: Arr = diffs[0] + diffs[1] + diffs[2] + diffs[3] + c.astype(I64)
        return total.astype(U32)
    r = np.zeros(1, U32)
    for k, d in enumerate(diffs):
        r = r | (d.astype(U32) << np.uint32(8 * k))
    return r


def idp4(a: Arr, b: Arr, c: Arr, a_signed: bool, b_signed: bool) -> Arr:
    """Dot product of four bytes plus `c`."""
    total = c.astype(I64)
    for x, y in zip(fields(a, 8, a_signed), fields(b, 8, b_signed), strict=True):
        total = total + x * y
    return total.astype(U32)


def idp2(a: Arr, b: Arr, c: Arr, a_signed: bool, b_signed: bool, high: bool) -> Arr:
    """Dot product of two 16-bit halves with the low (or high) two bytes, plus `c`."""
    ah = fields(a, 16, a_signed)
    bb = fields(b, 8, b_signed)[2:] if high else fields(b, 8, b_signed)[:2]
    total: Arr = c.astype(I64) + ah[0] * bb[0] + ah[1] * bb[1]
    return total.astype(U32)


def compare(op: str, a: Arr, b: Arr) -> Arr:
    """LT, LE, GT, GE, EQ, NE, or the constants F and T; for arrays of a comparable type."""
    f = _COMPARE.get(op)
    if f is None:
        return np.full(np.broadcast_shapes(a.shape, b.shape), op == "T")
    return f(a, b)


_COMPARE: Final[dict[str, Callable[[Arr, Arr], Arr]]] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}


def combine(op: str, a: Arr, b: Arr) -> Arr:
    """AND, OR, XOR of predicates."""
    result: Arr = a & b if op == "AND" else a | b if op == "OR" else a ^ b
    return result


def plop3(a: Arr, b: Arr, c: Arr, table: int) -> Arr:
    """Any function of three predicates; the table as for :func:`lop3`."""
    index = a.astype(U8) * 4 + b.astype(U8) * 2 + c.astype(U8)
    result: Arr = (np.uint8(table & 0xFF) >> index & np.uint8(1)).view(np.bool_)
    return result
