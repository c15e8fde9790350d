"""Records of instructions on pairs of f16 or bf16, and of conversions with a rounding (``halves.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    S_H0_H0,
    S_H0_NH1,
    S_H1_H0,
    S_H1_H1,
    S_NONE,
    Opnd,
    payload,
    suffix_of,
    without_suffix,
)
from orias.sim.native.record import Record, Unknown
from orias.sim.native.record_format import LOGIC
from orias.sim.native.translate_floats import COMPARED, ROUNDS

_FTZ, _SAT, _BF16, _RELU, _FINITE, _F32, _NAN, _BOTH, _ONE = 1, 2, 4, 8, 16, 32, 64, 128, 256
_TAKES: Final = {S_NONE: 0, S_H0_H0: 1, S_H1_H1: 2, S_H1_H0: 3, S_H0_NH1: 4}
"""Suffix -> which halves of a word an operand takes."""


def _halves(r: Record, o: Opnd) -> None:
    """A source that is a pair of halves."""
    take = _TAKES.get(suffix_of(o))
    if take is None:
        raise Unknown
    r.real(without_suffix(o))
    kind, flags, value, high = r.sources[-1]
    r.sources[-1] = (kind, flags | take << 8, value, high)


def _how(r: Record) -> int:
    names = (
        ("FTZ", _FTZ),
        ("SAT", _SAT),
        ("RELU", _RELU),
        ("F32", _F32),
        ("NAN", _NAN),
        ("H_AND", _BOTH),
        ("BF", _ONE),
    )
    how = sum(bit for name, bit in names if r.has(name))
    return how | (_BF16 if r.has("BF16", "BF16_V2") else 0)


def _arithmetic(code: str, count: int) -> Callable[[Record], None]:
    def translate(r: Record) -> None:
        r.only("BF16_V2", "BF16", "FTZ", "SAT", "RELU", "MMA", *(["F32"] if code == "HADD2" else []))
        if len(r.s.src) < count:
            raise Unknown
        r.code, r.x = code, _how(r)
        r.result(r.s.regs[0])
        for o in r.s.src[:count]:
            _halves(r, o)

    return translate


def _hmnmx2(r: Record) -> None:
    s = r.s
    r.only("BF16_V2", "BF16", "FTZ", "NAN")
    if len(s.src) != 3:
        raise Unknown
    r.code, r.x = "HMNMX2", _how(r)
    r.result(s.regs[0])
    _halves(r, s.src[0])
    _halves(r, s.src[1])
    r.predicate(0, s.src[2])


def _compare(code: str) -> Callable[[Record], None]:
    def translate(r: Record) -> None:
        s = r.s
        known = ("BF16_V2", "FTZ", *COMPARED, *LOGIC)
        r.only(*known, *(("BF16", "H_AND") if code == "HSETP2" else ("BF",)))
        r.code, r.x = code, _how(r)
        if code == "HSETP2":
            r.flags()
        else:
            r.result(s.regs[0])
        _halves(r, s.src[0])
        _halves(r, s.src[1])
        r.predicate(0, s.src[2])
        r.y = (
            next(COMPARED[x] for x in s.op.mods if x in COMPARED) | next(LOGIC[x] for x in s.op.mods if x in LOGIC) << 4
        )

    return translate


def _mode(r: Record) -> int:
    return next((ROUNDS[x] for x in r.s.op.mods if x in ROUNDS), 0)


def _f2fp(r: Record) -> None:
    s = r.s
    r.only("F16", "BF16", "F32", "RELU", "RZ", "SATFINITE", "PACK_AB")
    if not r.has("PACK_AB"):
        raise Unknown
    r.code, r.y = "F2FP", _mode(r)
    r.x = (_BF16 if r.has("BF16") else 0) | (_RELU if r.has("RELU") else 0) | (_FINITE if r.has("SATFINITE") else 0)
    r.result(s.regs[0])
    r.real(s.src[0])
    r.real(s.src[1])


def _f2f(r: Record) -> None:
    """F2F from f32 to a half."""
    s = r.s
    r.only("F16", "BF16", "F32", "FTZ", *ROUNDS)
    if [x for x in s.op.mods if x in ("F16", "BF16", "F32")] not in (["F16", "F32"], ["BF16", "F32"]):
        raise Unknown
    r.code, r.x, r.y = "F2H", _how(r) & (_BF16 | _FTZ), _mode(r)
    r.result(s.regs[0])
    r.real(s.src[0])


def _i2f(r: Record) -> None:
    """I2F to a half."""
    s = r.s
    r.only("F16", "BF16", "U32", "S32", *ROUNDS)
    if not r.has("F16", "BF16"):
        raise Unknown
    r.code = "I2H"
    r.x, r.y, r.z = _how(r) & _BF16, _mode(r), 0 if r.has("U32") else 1
    r.result(s.regs[0])
    r.integer(s.src[0])


def _frnd(r: Record) -> None:
    r.only("F32", "FTZ", "SAT", *ROUNDS)
    r.code, r.x, r.y = "FRND", _how(r) & (_FTZ | _SAT), _mode(r)
    r.result(r.s.regs[0])
    r.real(r.s.src[0])


def _f2i(r: Record) -> None:
    """F2I to 64 bits."""
    s = r.s
    r.only("U64", "S64", "FTZ", "NTZ", "F32", *ROUNDS)
    if not r.has("U64", "S64"):
        raise Unknown
    r.code, r.y = "F2L", _mode(r)
    r.result(s.regs[0])
    if payload(s.regs[0]) & 1:
        raise Unknown
    r.real(s.src[0])
    r.x = (0 if r.has("U64") else 1) | (2 if r.has("NTZ") else 0) | (4 if r.has("FTZ") else 0)


HALVES: Final[dict[str, Callable[[Record], None]]] = {
    "HADD2": _arithmetic("HADD2", 2), "HMUL2": _arithmetic("HMUL2", 2), "HFMA2": _arithmetic("HFMA2", 3), "HMNMX2": _hmnmx2,
    "HSETP2": _compare("HSETP2"), "HSET2": _compare("HSET2"), "F2FP": _f2fp, "F2F": _f2f, "I2F": _i2f, "I2FP": _i2f, "FRND": _frnd, "F2I": _f2i,
}  # fmt: skip
"""Mnemonic -> what fills its record, where ``translate_floats.py`` does not."""
