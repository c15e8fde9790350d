"""The semantics of integer SASS operations, and of the 64-bit pseudo operations, on constants.

:func:`evaluate` takes an operation and its operands (immediates, RZ and PT only) and returns the patterns of the
results, or None for an unknown operation, which is then not folded.  The functions before it work on patterns:
non-negative ``int`` of 32 or 64 bits.  The simulator's vector code (``orias.sim.math.ops_int``) computes the same
functions and is tested against this module.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.op import Op
from orias.isa.operand import (
    ABS,
    FIRST_VREG,
    INV,
    K_IMM,
    K_P,
    K_R,
    KIND_MASK,
    NEG,
    PAYLOAD_SHIFT,
    SUFFIX_MASK,
    Opnd,
    in_file,
    is_zero_reg,
)
from orias.semantics.truth_tables import WEIGHTS

_MASK32: Final = 0xFFFFFFFF
_MASK64: Final = 0xFFFFFFFFFFFFFFFF
_MASKS: Final[dict[int, int]] = {8: 0xFF, 16: 0xFFFF, 32: _MASK32, 64: _MASK64}
Values = list[int] | None


# --- patterns


def signed(v: int, bits: int = 32) -> int:
    """The number that a two's complement pattern represents."""
    return v - (1 << bits) if v >> (bits - 1) else v


def add(a: int, b: int, bits: int = 32) -> int:
    """``a + b``."""
    return a + b & _MASKS[bits]


def negate(a: int, bits: int = 32) -> int:
    """``-a``."""
    return -a & _MASKS[bits]


def multiply(a: int, b: int, bits: int = 32) -> int:
    """The low word of ``a * b``."""
    return a * b & _MASKS[bits]


def multiply_wide(a: int, b: int, is_signed: bool) -> int:
    """The 64-bit product of two words."""
    return signed(a) * signed(b) & _MASK64 if is_signed else a * b


def shift_left(v: int, n: int, bits: int = 32) -> int:
    """``v << n``; zero if n is at least `bits`."""
    return v << n & _MASKS[bits] if n < bits else 0


def shift_right(v: int, n: int, is_signed: bool, bits: int = 32) -> int:
    """``v >> n``; if n is at least `bits`, zero or all sign bits."""
    return (signed(v, bits) if is_signed else v) >> min(n, bits) & _MASKS[bits]


def sign_extend(v: int) -> int:
    """The 64-bit pattern of a signed word."""
    return signed(v) & _MASK64


def add_carry(values: list[int], carries: int, bits: int = 32) -> tuple[int, int]:
    """The sum of words and carries in, and the number of carries out."""
    total = carries
    for v in values:
        total += v
    return total & _MASKS[bits], total >> bits


def funnel(low: int, n: int, high: int, left: bool, wrap: bool, wide: bool, is_signed: bool, take_high: bool) -> int:
    """SHF: a word of the shifted 64-bit value {high, low}.

    The shift is taken modulo 32 (64 for the 64-bit types) with `wrap`, clamped to that otherwise.
    """
    limit = 64 if wide else 32
    n = n & limit - 1 if wrap else min(n, limit)
    v = high << 32 | low
    r = shift_left(v, n, 64) if left else shift_right(v, n, is_signed, 64)
    return r >> 32 if take_high else r & _MASK32


def lop3(a: int, b: int, c: int, table: int) -> int:
    """Any bitwise function of three words (``orias.semantics.truth_tables``)."""
    out = 0
    for i in range(8):
        if table >> i & 1:
            out |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return out & _MASK32


def byte_index(selector: int, k: int, mode: str) -> int:
    """Index of the byte of {b, a} that result byte `k` of PRMT takes."""
    first = selector & 3
    if mode == "":
        return selector >> 4 * k & 7
    if mode == "F4E":
        return first + k
    if mode == "B4E":
        return first - k & 7
    if mode == "RC8":
        return first
    if mode == "ECL":
        return max(first, k)
    if mode == "ECR":
        return min(first, k)
    return (first & 1) * 2 + (k & 1)


def prmt(a: int, selector: int, b: int, mode: str = "") -> int:
    """Byte permutation of {b, a}; selector bit 3 of a nibble repeats the byte's sign.  Modes as in PTX ``prmt``."""
    v = b << 32 | a
    out = 0
    for k in range(4):
        byte = v >> 8 * byte_index(selector, k, mode) & 255
        if mode == "" and selector >> 4 * k & 8:
            byte = 255 if byte >> 7 else 0
        out |= byte << 8 * k
    return out


def bit_mask(position: int, width: int, wrap: bool) -> int:
    """BMSK: `width` ones from bit `position`; both modulo 32 with `wrap`, clamped to 32 otherwise."""
    if wrap:
        position, width = position & 31, width & 31
    else:
        position, width = min(position, 32), min(width, 32)
    return (1 << width) - 1 << position & _MASK32


def extend(a: int, width: int, is_signed: bool, wrap: bool) -> int:
    """SGXT: the low `width` bits of a word, sign- or zero-extended; a width of 32 or more keeps the word."""
    w = width & 31 if wrap else min(width, 32)
    if w == 0:
        return 0
    a &= (1 << w) - 1
    return signed(a, w) & _MASK32 if is_signed else a


def find_leading_one(a: int, is_signed: bool, from_top: bool) -> int:
    """FLO: position of the highest one (signed: of the highest bit unlike the sign), or 31 minus it; all ones if none."""
    if is_signed and a >> 31:
        a = ~a & _MASK32
    if a == 0:
        return _MASK32
    return 32 - a.bit_length() if from_top else a.bit_length() - 1


def reverse_bits(a: int) -> int:
    """BREV: the word with its bits in reverse order."""
    out = 0
    for k in range(32):
        out |= (a >> k & 1) << (31 - k)
    return out


def absolute(a: int) -> int:
    """IABS: the absolute value; the most negative word is its own absolute value."""
    return abs(signed(a)) & _MASK32


def minmax(a: int, b: int, minimum: bool, is_signed: bool, bits: int = 32) -> int:
    """The smaller or the larger pattern, compared as signed or unsigned numbers."""
    a_below = signed(a, bits) < signed(b, bits) if is_signed else a < b
    return a if a_below == minimum else b


def compare(name: str, a: int, b: int) -> bool:
    """LT, LE, GT, GE, EQ, NE, or the constants F and T, on numbers."""
    if name == "LT":
        return a < b
    if name == "LE":
        return a <= b
    if name == "GT":
        return a > b
    if name == "GE":
        return a >= b
    if name == "EQ":
        return a == b
    if name == "NE":
        return a != b
    return name == "T"


# --- operands


def constant_of(o: Opnd) -> int | None:
    """The 32-bit pattern of an immediate or RZ source, flags applied as integers; None for anything else."""
    v = constant64_of(o)
    return None if v is None else v & _MASK32


def constant64_of(o: Opnd) -> int | None:
    """The 64-bit pattern of an immediate or RZ source in place of a pair; None for anything else."""
    # Operand tests are inlined here: in plain Python the calls would cost more than the rest.
    kd = o & KIND_MASK
    if kd == K_IMM:
        v = o >> PAYLOAD_SHIFT
    elif kd == K_R and o < FIRST_VREG and is_zero_reg(o):
        v = 0
    else:
        return None
    if o & (ABS | SUFFIX_MASK):
        return None
    if o & INV:
        v = ~v & _MASK64
    if o & NEG:
        v = -v & _MASK64
    return v


def _words(src: list[Opnd]) -> list[int] | None:
    """The values of the words among the sources, in order."""
    out: list[int] = []
    for o in src:
        if not in_file(o, K_P):
            v = constant_of(o)
            if v is None:
                return None
            out.append(v)
    return out


def _carries(src: list[Opnd]) -> int:
    """Number of true predicates among the sources."""
    n = 0
    for o in src:
        if in_file(o, K_P) and not o & INV:
            n += 1
    return n


def _addends(src: list[Opnd]) -> tuple[list[int], int] | None:
    """The words of an addition and its carries: a negated word becomes its complement plus a carry."""
    words: list[int] = []
    ones = 0
    for o in src:
        v = constant_of(o & ~NEG)
        if v is None:
            return None
        if o & NEG:
            v = ~v & _MASK32
            ones += 1
        words.append(v)
    return words, ones


def _only(op: Op, known: frozenset[str]) -> bool:
    return all(m in known for m in op.mods)


def _combine(op: Op, r: bool, q: bool) -> int:
    if op.has("AND"):
        return int(r and q)
    return int(r or q) if op.has("OR") else int(r != q)


# --- operations


def evaluate(op: Op, src: list[Opnd]) -> Values:
    """Patterns of the results (registers: 32 or 64 bits; predicates: 0 or 1), registers first."""
    rule = _RULES.get(op.base)
    return rule(op, src) if rule is not None else None


def known() -> list[str]:
    """Bases of the operations that :func:`evaluate` knows."""
    return list(_RULES)


_ADD: Final = frozenset(("X",))


def _iadd3(op: Op, src: list[Opnd]) -> Values:
    """IADD3; without X a negated source is its complement plus a carry."""
    if not _only(op, _ADD):
        return None
    found = _addends([o for o in src if not in_file(o, K_P)])
    if found is None:
        return None
    words, ones = found
    total, carries = add_carry(words, ones + (_carries(src) if op.has("X") else 0))
    return [total, int(carries > 0), int(carries > 1)]


_MULTIPLY: Final = frozenset(("U32", "HI", "WIDE", "X"))


def _imad(op: Op, src: list[Opnd]) -> Values:
    if not _only(op, _MULTIPLY) or len(src) < 3:
        return None
    a, b = constant_of(src[0] & ~NEG), constant_of(src[1] & ~NEG)
    if a is None or b is None:
        return None
    negative = (src[0] ^ src[1]) & NEG != 0
    carries = _carries(src) if op.has("X") else 0
    if op.has("WIDE") or op.has("HI"):
        c = constant64_of(src[2])
        if c is None:
            return None
        p = multiply_wide(a, b, not op.has("U32"))
        total, over = add_carry([negate(p, 64) if negative else p, c], carries, 64)
        return [total if op.has("WIDE") else total >> 32, int(over > 0)]
    c = constant_of(src[2])
    if op.has("X") or c is None:
        return None
    p = multiply(a, b)
    return [add(negate(p) if negative else p, c)]


_LEA: Final = frozenset(("HI", "SX32", "X"))


def _lea(op: Op, src: list[Opnd]) -> Values:
    """LEA: (a << n) + b; HI takes the upper word of the shifted {c, a}; SX32 makes c the sign of a; X adds a carry."""
    if not _only(op, _LEA):
        return None
    words = _words([o & ~NEG if k < 2 else o for k, o in enumerate(src)])
    if words is None:
        return None
    a, b, n = words[0], words[1], words[-1] & 31
    ones = 0
    if op.has("HI"):
        v = sign_extend(a) if op.has("SX32") else words[2] << 32 | a
        a = shift_left(negate(v, 64) if src[0] & NEG else v, n, 64) >> 32
    else:
        a = shift_left(a, n)
        if src[0] & NEG:
            a = ~a & _MASK32
            ones += 1
    if src[1] & NEG:
        b = ~b & _MASK32
        ones += 1
    total, carries = add_carry([a, b], ones + (_carries(src) if op.has("X") else 0))
    return [total, int(carries > 0)]


_SHIFT: Final = frozenset(("L", "R", "W", "HI", "U32", "S32", "U64", "S64"))


def _shf(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    if words is None or len(words) != 3 or not _only(op, _SHIFT):
        return None
    wide = op.has("U64") or op.has("S64")
    is_signed = op.has("S32") or op.has("S64")
    return [funnel(words[0], words[1], words[2], op.has("L"), op.has("W"), wide, is_signed, op.has("HI"))]


def _lop3(op: Op, src: list[Opnd]) -> Values:
    """LOP3; the predicate result is (result != 0) combined with the last source."""
    words = _words(src)
    if words is None or len(words) != 4 or len(src) != 5:
        return None
    r = lop3(words[0], words[1], words[2], words[3])
    q = not src[4] & INV
    return [r, int(r != 0 and q) if op.has("PAND") else int(r != 0 or q)]


def _plop3(op: Op, src: list[Opnd]) -> Values:
    """PLOP3: two functions of three predicates."""
    tables = _words(src[3:])
    if tables is None:
        return None
    at = 0
    for k in range(3):
        if not in_file(src[k], K_P):
            return None
        if not src[k] & INV:
            at |= WEIGHTS[k]
    return [t >> at & 1 for t in tables]


_PERMUTE: Final = frozenset(("F4E", "B4E", "RC8", "ECL", "ECR", "RC16"))


def _prmt(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    if words is None or len(words) != 3 or not _only(op, _PERMUTE):
        return None
    return [prmt(words[0], words[1], words[2], op.mods[0] if op.mods else "")]


_COMPARE: Final = frozenset(("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T", "U32", "S32", "AND", "OR", "XOR", "EX"))


def _isetp(op: Op, src: list[Opnd]) -> Values:
    """ISETP: a comparison and its complement, each combined with a predicate; EX continues the comparison of a lower word."""
    words = _words(src)
    if words is None or len(words) != 2 or not _only(op, _COMPARE):
        return None
    a, b = words
    if not op.has("U32"):
        a, b = signed(a), signed(b)
    r = compare(op.mods[0], a, b)
    if op.has("EX") and a == b:
        r = not src[3] & INV
    q = not src[2] & INV
    return [_combine(op, r, q), _combine(op, not r, q)]


def _select(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    if words is None or len(words) != 2 or op.mods:
        return None
    return [words[1] if src[2] & INV else words[0]]


_MINMAX: Final = frozenset(("U32", "S32", "U16x2", "S16x2", "RELU"))


def _minmax(op: Op, src: list[Opnd]) -> Values:
    """IMNMX, VIMNMX, VIMNMX3, also on packed halves; the last source selects the minimum, RELU clamps at zero."""
    words = _words(src)
    if words is None or len(words) < 2 or not _only(op, _MINMAX) or not in_file(src[len(words)], K_P):
        return None
    minimum = not src[len(words)] & INV
    bits = 16 if op.has("U16x2") or op.has("S16x2") else 32
    is_signed = not (op.has("U32") or op.has("U16x2"))
    out = 0
    for at in range(0, 32, bits):
        fields = [w >> at & _MASKS[bits] for w in words]
        r = fields[0]
        for f in fields[1:]:
            r = minmax(r, f, minimum, is_signed, bits)
        if op.has("RELU"):
            r = minmax(r, 0, False, True, bits)
        out |= r << at
    return [out]


def _bmsk(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    return None if words is None else [bit_mask(words[0], words[1], op.has("W"))]


def _sgxt(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    return None if words is None else [extend(words[0], words[1], not op.has("U32"), op.has("W"))]


def _flo(op: Op, src: list[Opnd]) -> Values:
    """FLO; the predicate result is true if there is a one."""
    words = _words(src)
    if words is None:
        return None
    r = find_leading_one(words[0], not op.has("U32"), op.has("SH"))
    return [r, int(r != _MASK32)]


def _popc(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    return None if words is None or op.mods else [words[-1].bit_count()]


def _brev(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    return None if words is None or op.mods else [reverse_bits(words[-1])]


def _iabs(op: Op, src: list[Opnd]) -> Values:
    words = _words(src)
    return None if words is None or op.mods else [absolute(words[-1])]


# --- pseudo operations on pairs


def _iadd64(op: Op, src: list[Opnd]) -> Values:
    """iadd64; with a carry in, a negated addend is only complemented, as in IADD3.X."""
    words: list[int] = []
    ones = 0
    for o in src[:2]:
        v = constant64_of(o & ~NEG)
        if v is None:
            return None
        if o & NEG:
            v = ~v & _MASK64
            ones += 1
        words.append(v)
    total, carry = add_carry(words, _carries(src) if len(src) > 2 else ones, 64)
    return [total, int(carry > 0)]


def _pairs(src: list[Opnd]) -> tuple[int, int] | None:
    a, b = constant64_of(src[0]), constant64_of(src[1])
    return None if a is None or b is None else (a, b)


def _imul64(op: Op, src: list[Opnd]) -> Values:
    found = _pairs(src)
    return None if found is None else [multiply(found[0], found[1], 64)]


def _shl64(op: Op, src: list[Opnd]) -> Values:
    v, n = constant64_of(src[0]), constant_of(src[1])
    return None if v is None or n is None else [shift_left(v, n, 64)]


def _shr64(op: Op, src: list[Opnd]) -> Values:
    v, n = constant64_of(src[0]), constant_of(src[1])
    return None if v is None or n is None else [shift_right(v, n, op.has("S64"), 64)]


def _isetp64(op: Op, src: list[Opnd]) -> Values:
    """isetp64: the comparison and its complement, each and-ed with the third source."""
    found = _pairs(src)
    if found is None:
        return None
    a, b = found
    r = compare(op.mods[0], signed(a, 64), signed(b, 64)) if op.has("S64") else compare(op.mods[0], a, b)
    q = len(src) < 3 or not src[2] & INV
    return [int(r and q), int(not r and q)]


def _sext64(op: Op, src: list[Opnd]) -> Values:
    v = constant_of(src[0])
    return None if v is None else [sign_extend(v)]


_RULES: Final[dict[str, Callable[[Op, list[Opnd]], Values]]] = {
    "IADD3": _iadd3, "VIADD": _iadd3, "IMAD": _imad, "LEA": _lea, "SHF": _shf, "LOP3": _lop3, "PLOP3": _plop3,
    "PRMT": _prmt, "ISETP": _isetp, "SEL": _select, "IMNMX": _minmax, "VIMNMX": _minmax, "VIMNMX3": _minmax,
    "BMSK": _bmsk, "SGXT": _sgxt, "FLO": _flo, "POPC": _popc, "BREV": _brev, "IABS": _iabs, "iadd64": _iadd64,
    "imul64": _imul64, "shl64": _shl64, "shr64": _shr64, "isetp64": _isetp64, "sext64": _sext64,
}  # fmt: skip
