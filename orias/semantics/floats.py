"""The semantics of floating-point SASS operations on constants.

:func:`evaluate` takes an operation and its operands (immediates, RZ and PT only) and returns the patterns of the
results, or None for an unknown operation, which is then not folded.  Hardware rules (NaN, flush, saturation):
``orias.semantics.ieee``.
"""

from collections.abc import Callable
from typing import Any, Final

from orias.isa.op import Op
from orias.isa.operand import (
    ABS,
    INV,
    K_IMM,
    K_P,
    K_R,
    KIND_MASK,
    LANE_MASK,
    NEG,
    S_H0,
    S_H0_H0,
    S_H1,
    S_H1_H1,
    S_NONE,
    Opnd,
    imm_value,
    is_imm,
    is_true_pred,
    is_zero_reg,
    suffix_of,
)
from orias.semantics import ieee
from orias.semantics.approximate import mufu
from orias.semantics.ieee import BF16, F16, F32, F64, RM, RN, RP, RZ, Format

FORMATS: Final[dict[str, Format]] = {"F16": F16, "BF16": BF16, "BF16_V2": BF16, "F32": F32, "F64": F64}
ROUNDINGS: Final[dict[str, int]] = {
    "RN": RN, "RM": RM, "RP": RP, "RZ": RZ, "FLOOR": RM, "CEIL": RP, "TRUNC": RZ, "ROUND": RN,
}  # fmt: skip
"""Modifier -> rounding mode."""
SCALES: Final[dict[str, int]] = {"D2": -1, "D4": -2, "D8": -3, "M2": 1, "M4": 2, "M8": 3}
"""Modifier -> exponent of the power of two that multiplies a product before rounding."""

_INTS: Final = frozenset(("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64"))
Values = list[int] | None


def is_constant(o: Opnd) -> bool:
    """True for an operand that :func:`evaluate` can read."""
    # Operand tests are inlined here: every source of every operation that may fold is asked about.
    kind = o & KIND_MASK
    if kind == K_IMM:
        return True
    if o & LANE_MASK:
        return False
    return is_zero_reg(o) if kind == K_R else kind == K_P and is_true_pred(o)


def evaluate(op: Op, src: list[Opnd]) -> Values:
    """Patterns of the results (registers: 32 or 64 bits; predicates: 0 or 1), registers first."""
    rule = _RULES.get(op.base)
    return rule(op, src) if rule is not None else None


def foldable() -> list[str]:
    """Bases of the operations that :func:`evaluate` knows."""
    return list(_RULES)


# --- operands


def _pattern(o: Opnd) -> int:
    return imm_value(o) if is_imm(o) else 0


def _number(o: Opnd, f: Format) -> int:
    """The pattern of an f32 or f64 operand with its flags applied."""
    v = _pattern(o) & (2 * f.sign - 1)
    if o & ABS:
        v &= f.magnitude
    return v ^ f.sign if o & NEG else v


def _halves(o: Opnd, f: Format, ftz: bool) -> tuple[int, int] | None:
    """The patterns of both halves of a packed operand."""
    v = _pattern(o) & 0xFFFFFFFF
    s = suffix_of(o)
    low, high = v & 0xFFFF, v >> 16
    if s == S_H0_H0:
        high = low
    elif s == S_H1_H1:
        low = high
    elif s != S_NONE:
        return None
    if o & ABS:
        low, high = low & f.magnitude, high & f.magnitude
    if o & NEG:
        low, high = low ^ f.sign, high ^ f.sign
    return (ieee.flush(f, low), ieee.flush(f, high)) if ftz else (low, high)


def _value(o: Opnd, f: Format, ftz: bool) -> int | None:
    """The pattern of the source of a conversion."""
    if f in (F32, F64):
        v = _number(o, f)
        return ieee.flush(f, v) if ftz and f is F32 else v
    s = suffix_of(o)
    if s not in (S_NONE, S_H0, S_H1):
        return None
    v = _pattern(o) >> (16 if s == S_H1 else 0) & 0xFFFF
    if o & ABS:
        v &= f.magnitude
    return v ^ f.sign if o & NEG else v


def _holds(o: Opnd) -> bool:
    return not o & INV


def _rounding(op: Op) -> int:
    for m in op.mods:
        if m in ROUNDINGS:
            return ROUNDINGS[m]
    return RN


def _scale(op: Op) -> int:
    for m in op.mods:
        if m in SCALES:
            return SCALES[m]
    return 0


def _only(op: Op, known: frozenset[str]) -> bool:
    return all(m in known for m in op.mods)


_ARITH: Final = frozenset(("FTZ", "SAT", *ROUNDINGS, *SCALES))


# --- f32 and f64


def _inputs(op: Op, src: list[Opnd], f: Format) -> list[int]:
    values = [_number(o, f) for o in src]
    return [ieee.flush(f, v) for v in values] if op.has("FTZ") else values


def _add(op: Op, src: list[Opnd]) -> Values:
    f = F32 if op.base == "FADD" else F64
    if len(src) != 2 or not _only(op, _ARITH):
        return None
    a, b = _inputs(op, src, f)
    return [ieee.finish(f, ieee.add(f, a, b, _rounding(op)), op.has("FTZ"), op.has("SAT"))]


def _mul(op: Op, src: list[Opnd]) -> Values:
    f = F32 if op.base == "FMUL" else F64
    if len(src) != 2 or not _only(op, _ARITH):
        return None
    a, b = _inputs(op, src, f)
    return [ieee.finish(f, ieee.mul(f, a, b, _rounding(op), _scale(op)), op.has("FTZ"), op.has("SAT"))]


def _fma(op: Op, src: list[Opnd]) -> Values:
    f = F32 if op.base == "FFMA" else F64
    if len(src) != 3 or not _only(op, _ARITH):
        return None
    a, b, c = _inputs(op, src, f)
    return [ieee.finish(f, ieee.fma(f, a, b, c, _rounding(op), _scale(op)), op.has("FTZ"), op.has("SAT"))]


def _minmax(op: Op, src: list[Opnd]) -> Values:
    if not _only(op, frozenset(("FTZ", "NAN", "XORSIGN"))):
        return None
    xorsign = op.has("XORSIGN")
    # XORSIGN uses the signs of the operands before ABS applies.
    a, b = _inputs(op, [o & ~ABS if xorsign else o for o in src[:2]], F32)
    return [ieee.minmax(F32, a, b, _holds(src[2]), op.has("NAN"), xorsign)]


def _logic(op: Op, r: bool, q: bool) -> int:
    if op.has("AND"):
        return int(r and q)
    return int(r or q) if op.has("OR") else int(r != q)


def _comparison(op: Op) -> str:
    return next((m for m in op.mods if ieee.is_comparison(m)), "")


def _setp(op: Op, src: list[Opnd]) -> Values:
    f = F32 if op.base == "FSETP" else F64
    if op.has("MIN") or op.has("MAX"):
        return _setp_minmax(op, src)
    if len(src) != 3:
        return None
    a, b = _inputs(op, src[:2], f)
    r = ieee.compare(f, _comparison(op), a, b)
    q = _holds(src[2])
    return [_logic(op, r, q), _logic(op, not r, q)]


def _setp_minmax(op: Op, src: list[Opnd]) -> Values:
    """DSETP.MIN and MAX: whether the first operand is the result, and whether both are NaN."""
    a, b = _inputs(op, src[:2], F64)
    q = _holds(src[2])
    both = ieee.is_nan(F64, a) and ieee.is_nan(F64, b)
    return [int(ieee.prefers_first(F64, a, b, op.has("MIN")) and q), int(both and q)]


def _set(op: Op, src: list[Opnd]) -> Values:
    a, b = _inputs(op, src[:2], F32)
    r = _logic(op, ieee.compare(F32, _comparison(op), a, b), _holds(src[2]))
    return [(F32.one if op.has("BF") else 0xFFFFFFFF) if r else 0]


def _select(op: Op, src: list[Opnd]) -> Values:
    a, b = _inputs(op, src[:2], F32)
    return [a if _holds(src[2]) else b]


def _check(op: Op, src: list[Opnd]) -> Values:
    return [int(division_needs_help(*[(_number(o, F32) >> 23) & 255 for o in src[:2]]))]


def division_needs_help(ea: Any, eb: Any) -> Any:
    """FCHK on the exponent fields (integers, or arrays of them) of dividend and divisor: whether f32 division needs its slow path.

    The exact bounds of the hardware are not documented.  Any superset of the cases that the fast path gets wrong is
    correct; this one is special or denormal operands, and exponents for which an intermediate could leave the normal
    range.
    """
    d = ea - eb
    return (ea == 255) | (ea <= 25) | (eb <= 2) | (eb >= 252) | (d > 125) | (d < -123)


def _mufu(op: Op, src: list[Opnd]) -> Values:
    if len(op.mods) != 1:
        return None
    v = _pattern(src[0])
    if op.mods[0].endswith("64H"):
        # An f64 immediate gives its high word.
        v = v >> 32 if v >> 32 else v
    if src[0] & ABS:
        v &= F32.magnitude
    r = mufu(op.mods[0], v ^ F32.sign if src[0] & NEG else v)
    return None if r is None else [r]


# --- conversions


def _two_formats(op: Op) -> tuple[Format, Format]:
    """(result, source) formats of F2F: those in its modifiers, f32 by default."""
    named = [FORMATS[m] for m in op.mods if m in FORMATS]
    return (named[0], named[1]) if len(named) > 1 else (F32, F32)


def _f2f(op: Op, src: list[Opnd]) -> Values:
    if not _only(op, frozenset(("FTZ", "SAT", *ROUNDINGS, *FORMATS))):
        return None
    to, source = _two_formats(op)
    v = _value(src[0], source, op.has("FTZ"))
    if v is None:
        return None
    r = ieee.convert(source, to, v, _rounding(op))
    return [ieee.finish(to, r, op.has("FTZ") and to is F32, op.has("SAT"))]


def _f2fp(op: Op, src: list[Opnd]) -> Values:
    """Converts two f32 to packed halves, the first one to the upper half."""
    if not op.has("PACK_AB") or not _only(op, frozenset(("F16", "BF16", "F32", "RELU", "RZ", "SATFINITE", "PACK_AB"))):
        return None
    to = BF16 if op.has("BF16") else F16
    out = []
    for o in src[:2]:
        r = ieee.convert(F32, to, _number(o, F32), _rounding(op))
        if op.has("RELU") and r & to.sign:
            r = 0
        if op.has("SATFINITE") and ieee.is_inf(to, r):
            r -= 1
        out.append(r)
    return [out[0] << 16 | out[1]]


def _int_type(op: Op) -> tuple[int, bool]:
    for m in op.mods:
        if m in _INTS:
            return int(m[1:]), m[0] == "S"
    return 32, True


def _f2i(op: Op, src: list[Opnd]) -> Values:
    if not _only(op, frozenset(("FTZ", "NTZ", *_INTS, *ROUNDINGS, *FORMATS))):
        return None
    source = next((FORMATS[m] for m in op.mods if m in FORMATS), F32)
    v = _value(src[0], source, op.has("FTZ"))
    if v is None:
        return None
    bits, signed = _int_type(op)
    r = ieee.to_int(source, v, bits, signed, _rounding(op), op.has("NTZ"))
    return [r if bits == 64 else r & 0xFFFFFFFF]


def _i2f(op: Op, src: list[Opnd]) -> Values:
    o = src[0]
    if not _only(op, frozenset((*_INTS, *ROUNDINGS, *FORMATS))) or suffix_of(o) or o & (NEG | ABS | INV):
        return None
    to = next((FORMATS[m] for m in op.mods if m in FORMATS), F32)
    bits, signed = _int_type(op)
    n = _pattern(o) & ((1 << bits) - 1)
    if signed and n >> (bits - 1):
        n -= 1 << bits
    return [ieee.from_int(to, n, _rounding(op))]


def _frnd(op: Op, src: list[Opnd]) -> Values:
    if not _only(op, frozenset(("FTZ", *ROUNDINGS, *FORMATS))):
        return None
    f = next((FORMATS[m] for m in reversed(op.mods) if m in FORMATS), F32)
    v = _value(src[0], f, op.has("FTZ"))
    return None if v is None else [ieee.round_integral(f, v, _rounding(op))]


# --- packed halves


def _half_finish(op: Op, f: Format, r: int) -> int:
    if op.has("FTZ"):
        r = ieee.flush(f, r)
    if op.has("RELU") and r & f.sign:
        r = 0
    return ieee.saturate(f, r) if op.has("SAT") else r


_HALF: Final = frozenset(("BF16_V2", "BF16", "FTZ", "SAT", "RELU", "F32", "MMA"))


def _half_arith(op: Op, src: list[Opnd]) -> Values:
    f = BF16 if op.has("BF16_V2") or op.has("BF16") else F16
    count = 3 if op.base == "HFMA2" else 2
    if len(src) != count or not _only(op, _HALF):
        return None
    pairs: list[tuple[int, int]] = []
    for o in src:
        pair = _halves(o, f, op.has("FTZ"))
        if pair is None:
            return None
        pairs.append(pair)
    to = F32 if op.has("F32") else f
    out = []
    for k in (0, 1):
        v = [p[k] for p in pairs]
        if op.base == "HADD2":
            r = ieee.add(f, v[0], v[1], RN, to)
        elif op.base == "HMUL2":
            r = ieee.fma(f, v[0], v[1], (v[0] ^ v[1]) & f.sign, RN, 0, to)
        else:
            r = ieee.fma(f, v[0], v[1], v[2], RN, 0, to)
        out.append(_half_finish(op, to, r))
    return [out[0]] if to is F32 else [out[1] << 16 | out[0]]


def _half_pairs(op: Op, src: list[Opnd]) -> tuple[Format, tuple[int, int], tuple[int, int]] | None:
    f = BF16 if op.has("BF16_V2") else F16
    a = _halves(src[0], f, op.has("FTZ"))
    b = _halves(src[1], f, op.has("FTZ"))
    return None if a is None or b is None else (f, a, b)


def _half_minmax(op: Op, src: list[Opnd]) -> Values:
    if not _only(op, frozenset(("BF16_V2", "FTZ", "NAN", "XORSIGN"))):
        return None
    xorsign = op.has("XORSIGN")
    found = _half_pairs(op, [o & ~ABS if xorsign else o for o in src[:2]])
    if found is None:
        return None
    f, a, b = found
    r = [ieee.minmax(f, a[k], b[k], _holds(src[2]), op.has("NAN"), xorsign) for k in (0, 1)]
    return [r[1] << 16 | r[0]]


def _half_setp(op: Op, src: list[Opnd]) -> Values:
    found = _half_pairs(op, src)
    if found is None or op.has("H_AND"):
        return None
    f, a, b = found
    q = _holds(src[2])
    return [_logic(op, ieee.compare(f, _comparison(op), a[k], b[k]), q) for k in (0, 1)]


def _half_set(op: Op, src: list[Opnd]) -> Values:
    found = _half_pairs(op, src)
    if found is None:
        return None
    f, a, b = found
    q = _holds(src[2])
    yes = f.one if op.has("BF") else 0xFFFF
    r = [yes if _logic(op, ieee.compare(f, _comparison(op), a[k], b[k]), q) else 0 for k in (0, 1)]
    return [r[1] << 16 | r[0]]


_RULES: Final[dict[str, Callable[[Op, list[Opnd]], Values]]] = {
    "FADD": _add, "DADD": _add, "FMUL": _mul, "DMUL": _mul, "FFMA": _fma, "DFMA": _fma, "FMNMX": _minmax,
    "FSETP": _setp, "DSETP": _setp, "FSET": _set, "FSEL": _select, "FCHK": _check, "MUFU": _mufu, "F2F": _f2f,
    "F2FP": _f2fp, "F2I": _f2i, "I2F": _i2f, "I2FP": _i2f, "FRND": _frnd, "HADD2": _half_arith, "HMUL2": _half_arith,
    "HFMA2": _half_arith, "HMNMX2": _half_minmax, "HSETP2": _half_setp, "HSET2": _half_set,
}  # fmt: skip
