"""Records of instructions on integers (``integers.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    NEG,
    is_imm,
    payload,
)
from orias.sim.native.record import IMMEDIATE, Record, Unknown, split_sources
from orias.sim.native.record_format import COMPARISONS, LOGIC


def _iadd3(r: Record) -> None:
    s = r.s
    r.only("X")
    values, carries = split_sources(s)
    carries = carries if r.has("X") else []
    r.result(s.regs[0])
    r.flags()
    if not s.preds and not carries:
        r.code = "IADD3"
        for o in values:
            r.integer(o)
        if len(values) == 2:
            r.sources.append((IMMEDIATE, 0, 0, 0))
        return
    r.code = "IADDC"
    if len(carries) > 2 or len(values) > 3:
        raise Unknown
    for k, o in enumerate(values):
        r.integer(o & ~NEG)
        if o & NEG:
            r.x |= 1 << k
    for k, o in enumerate(carries):
        r.predicate(k, o)


def _imad(r: Record) -> None:
    s = r.s
    r.only("X", "U32", "S32", "WIDE", "HI", "MOV", "SHL", "IADD")
    values, carries = split_sources(s)
    carries = carries if r.has("X") else []
    a, b, c = values
    negative = (a ^ b) & NEG
    r.result(s.regs[0])
    r.flags()
    if r.has("WIDE", "HI"):
        if carries or s.preds:
            raise Unknown
        r.code = "IMADW" if r.has("WIDE") else "IMADH"
        r.integer(a & ~NEG)
        r.integer(b & ~NEG)
        r.integer(c, wide=True)
        r.x = (0 if r.has("U32") else 1) | (2 if negative else 0)
        return
    if carries or s.preds:
        if len(carries) > 1 or len(s.preds) > 1:
            raise Unknown
        extended = r.has("X")
        r.code = "IMADX"
        r.integer(a & ~NEG)
        r.integer(b & ~NEG)
        r.integer(c & ~NEG if extended else c)
        r.x = (1 if negative else 0) | (2 if c & NEG else 0)
        if not extended or not carries:
            raise Unknown
        r.predicate(0, carries[0])
        return
    if r.has("X"):
        raise Unknown
    r.code = "IMAD"
    r.integer(a & ~NEG | negative)
    r.integer(b & ~NEG)
    r.integer(c)


def _lea(r: Record) -> None:
    s = r.s
    r.only("HI", "X", "SX32")
    values, carries = split_sources(s)
    carries = carries if r.has("X") else []
    if not is_imm(values[-1]) or len(carries) > 1 or len(s.preds) > 1:
        raise Unknown
    a, b = values[0], values[1]
    r.result(s.regs[0])
    r.flags()
    r.y = payload(values[-1]) & 31
    r.integer(a & ~NEG)
    r.integer(b & ~NEG)
    r.x = (1 if a & NEG else 0) | (2 if b & NEG else 0)
    for o in carries:
        r.predicate(0, o)
    if r.has("HI"):
        r.code = "LEAH"
        if r.has("SX32"):
            r.x |= 4
        else:
            r.integer(values[2])
    else:
        r.code = "LEAC" if r.x or carries or s.preds else "LEA"


def _shf(r: Record) -> None:
    s = r.s
    r.only("L", "R", "W", "HI", "U32", "S32", "U64", "S64")
    if s.preds:
        raise Unknown
    r.code = "SHF"
    r.result(s.regs[0])
    for o in s.src:
        r.integer(o)
    left, wide = r.has("L"), r.has("U64", "S64")
    wrap = r.has("W") and not (is_imm(s.src[1]) and payload(s.src[1]) < (64 if wide else 32))
    sign = r.has("S32", "S64") and not left
    r.x = (1 if left else 0) | (2 if wrap else 0) | (4 if wide else 0) | (8 if sign else 0) | (16 if r.has("HI") else 0)


def _lop3(r: Record) -> None:
    s = r.s
    r.only("LUT", "PAND")
    for o in s.src[:3]:
        r.integer(o)
    r.x = payload(s.src[3]) & 0xFF
    r.code = "LOP3P" if s.preds else "LOP3"
    if s.regs:
        r.result(s.regs[0])
    r.flags()
    if s.preds:
        r.predicate(0, s.src[4])
        r.y = 0 if r.has("PAND") else 1


def _isetp(r: Record) -> None:
    s = r.s
    r.only(*COMPARISONS, *LOGIC, "U32", "S32", "EX")
    r.code = "ISETP"
    r.flags()
    r.integer(s.src[0])
    r.integer(s.src[1])
    r.predicate(0, s.src[2])
    r.x = COMPARISONS[s.op.mods[0]] | (0 if r.has("U32") else 16)
    if r.has("EX"):
        r.predicate(1, s.src[3])
        r.x |= 32
    r.y = next(LOGIC[x] for x in s.op.mods if x in LOGIC)


def _imnmx(r: Record) -> None:
    s = r.s
    r.only("U32", "S32")
    values, predicates = split_sources(s)
    if len(values) != 2 or any(payload(o) != 7 for o in s.preds):
        raise Unknown
    r.code = "IMNMX"
    r.result(s.regs[0])
    for o in values:
        r.integer(o)
    r.predicate(0, predicates[0])
    r.x = 0 if r.has("U32") else 1


def _prmt(r: Record) -> None:
    s = r.s
    r.only()
    r.code = "PRMT"
    r.result(s.regs[0])
    for o in s.src[:3]:
        r.integer(o)


def _popc(r: Record) -> None:
    r.only()
    r.code = "POPC"
    r.result(r.s.regs[0])
    r.integer(r.s.src[-1])


def _iabs(r: Record) -> None:
    _popc(r)
    r.code = "IABS"


def _flo(r: Record) -> None:
    s = r.s
    r.only("U32", "S32", "SH")
    r.code = "FLO"
    r.result(s.regs[0])
    r.flags()
    r.integer(s.src[0])
    r.x = (0 if r.has("U32") else 1) | (2 if r.has("SH") else 0)


def _brev(r: Record) -> None:
    _popc(r)
    r.code = "BREV"


INTEGERS: Final[dict[str, Callable[[Record], None]]] = {
    "IADD3": _iadd3, "IADD": _iadd3, "VIADD": _iadd3, "IMAD": _imad, "LEA": _lea, "SHF": _shf, "LOP3": _lop3, "ISETP": _isetp,
    "IMNMX": _imnmx, "VIMNMX": _imnmx, "PRMT": _prmt, "POPC": _popc, "IABS": _iabs, "FLO": _flo, "BREV": _brev,
}  # fmt: skip
"""Mnemonic -> what fills its record."""
