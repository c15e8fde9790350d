"""Records of instructions on floats and of conversions (``floats.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    is_zero_reg,
)
from orias.semantics.floats import ROUNDINGS, SCALES
from orias.sim.native.record import Record, Unknown
from orias.sim.native.record_format import COMPARISONS, LOGIC

_FTZ, _SAT, _WITH_NAN = 1, 2, 4
COMPARED: Final = {
    **COMPARISONS, "LTU": 8, "LEU": 9, "GTU": 10, "GEU": 11, "EQU": 12, "NEU": 13, "NUM": 14, "NAN": 15,
}  # fmt: skip
ROUNDS: Final = {"RN": 0, "RM": 1, "FLOOR": 1, "RP": 2, "CEIL": 2, "RZ": 3, "TRUNC": 3}


def _nearest(r: Record) -> None:
    if any(ROUNDINGS.get(x, ROUNDINGS["RN"]) != ROUNDINGS["RN"] or x in SCALES for x in r.s.op.mods):
        raise Unknown


def _finish(r: Record) -> int:
    return (_FTZ if r.has("FTZ") else 0) | (_SAT if r.has("SAT") else 0)


def _float(code: str, count: int) -> Callable[[Record], None]:
    def translate(r: Record) -> None:
        r.only("FTZ", "SAT", "RN")
        _nearest(r)
        r.code = code
        r.result(r.s.regs[0])
        if len(r.s.src) < count:
            raise Unknown
        for o in r.s.src[:count]:
            r.real(o)
        r.x = _finish(r)

    return translate


def _double(code: str, count: int) -> Callable[[Record], None]:
    def translate(r: Record) -> None:
        s = r.s
        r.only("RN")
        r.code = code
        r.result(s.regs[0])
        operands = s.src
        if code == "DADD":
            used = [o for o in s.src if not is_zero_reg(o) or len(s.src) == 2]
            operands = [used[0], used[-1]]
        for o in operands[:count]:
            r.real(o, wide=True)

    return translate


def _setp(code: str, wide: bool) -> Callable[[Record], None]:
    def translate(r: Record) -> None:
        s = r.s
        r.only(*COMPARED, *LOGIC, "FTZ")
        r.code = code
        r.flags()
        r.real(s.src[0], wide)
        r.real(s.src[1], wide)
        r.predicate(0, s.src[2])
        r.x = next(COMPARED[x] for x in s.op.mods if x in COMPARED)
        r.y = next(LOGIC[x] for x in s.op.mods if x in LOGIC)
        r.z = 1 if r.has("FTZ") else 0

    return translate


def _fmnmx(r: Record) -> None:
    s = r.s
    r.only("FTZ", "NAN")
    r.code = "FMNMX"
    r.result(s.regs[0])
    r.real(s.src[0])
    r.real(s.src[1])
    r.predicate(0, s.src[2])
    r.x = (_FTZ if r.has("FTZ") else 0) | (_WITH_NAN if r.has("NAN") else 0)


def _i2f(r: Record) -> None:
    s = r.s
    r.only("F32", "F64", "U32", "S32", "RN", *ROUNDS)
    r.code = "I2D" if r.has("F64") else "I2F"
    r.y = next((ROUNDS[x] for x in s.op.mods if x in ROUNDS), 0)
    if r.y and r.code == "I2D":
        raise Unknown
    r.result(s.regs[0])
    r.integer(s.src[0])
    r.x = 0 if r.has("U32") else 1


def _f2i(r: Record) -> None:
    s = r.s
    r.only("U32", "S32", "U16", "S16", "U8", "S8", "FTZ", "NTZ", "F32", *ROUNDS)
    r.code = "F2I"
    r.result(s.regs[0])
    r.real(s.src[0])
    r.x = (0 if r.has("U32", "U16", "U8") else 1) | (2 if r.has("NTZ") else 0) | (4 if r.has("FTZ") else 0)
    r.y = next((ROUNDS[x] for x in s.op.mods if x in ROUNDS), 0)
    r.z = 8 if r.has("U8", "S8") else 16 if r.has("U16", "S16") else 32


def _f2f(r: Record) -> None:
    s = r.s
    mods = [x for x in s.op.mods if x in ("F32", "F64")]
    if mods == ["F64", "F32"]:
        r.only("F64", "F32", "FTZ")
        r.code, r.x = "F2F64", 1 if r.has("FTZ") else 0
        r.result(s.regs[0])
        r.real(s.src[0])
    elif mods == ["F32", "F64"]:
        r.only("F64", "F32", "FTZ", "SAT", "RN")
        r.code, r.x = "F2F32", _finish(r)
        r.result(s.regs[0])
        r.real(s.src[0], wide=True)
    else:
        raise Unknown


def _mufu(r: Record) -> None:
    s = r.s
    r.only("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS")
    if len(s.op.mods) != 1:
        raise Unknown
    r.code = s.op.mods[0]
    r.result(s.regs[0])
    r.real(s.src[0])


def _fchk(r: Record) -> None:
    s = r.s
    r.only("DIVIDE")
    r.code = "FCHK"
    r.flags()
    if len(s.preds) != 1:
        raise Unknown
    r.real(s.src[0])
    r.real(s.src[1])


FLOATS: Final[dict[str, Callable[[Record], None]]] = {
    "FADD": _float("FADD", 2), "FMUL": _float("FMUL", 2), "FFMA": _float("FFMA", 3), "DADD": _double("DADD", 2), "DMUL": _double("DMUL", 2),
    "DFMA": _double("DFMA", 3), "FSETP": _setp("FSETP", False), "DSETP": _setp("DSETP", True), "FMNMX": _fmnmx, "I2F": _i2f, "I2FP": _i2f,
    "F2I": _f2i, "F2F": _f2f, "FCHK": _fchk, "MUFU": _mufu,
}  # fmt: skip
"""Mnemonic -> what fills its record."""
