"""Records of instructions on packed halves (``halves.h``)."""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    ABS,
    NEG,
    S_H0_H0,
    S_H0_NH1,
    S_H1_H0,
    S_H1_H1,
    S_NONE,
    SUFFIX_MASK,
    Opnd,
    suffix_of,
)
from orias.sim.native.record import Record, Unknown

_FTZ, _SAT, _RELU, _BF16, _TO_F32 = 1, 2, 4, 8, 16
_SELECTIONS: Final = {S_NONE: 0, S_H0_H0: 4, S_H1_H1: 8, S_H1_H0: 12, S_H0_NH1: 16}


def _half(r: Record, k: int, o: Opnd) -> None:
    """Source `k`, whose flags and selection of halves go to ``p``: 1 magnitude, 2 negative, 4 to 12 which halves, 16 the upper one negative."""
    selection = _SELECTIONS.get(suffix_of(o))
    if selection is None:
        raise Unknown
    r.p[k] = selection | (1 if o & ABS else 0) | (2 if o & NEG else 0)
    r.integer(o & ~(ABS | NEG | SUFFIX_MASK))


def _arithmetic(code: str, count: int) -> Callable[[Record], None]:
    def translate(r: Record) -> None:
        s = r.s
        r.only("BF16_V2", "FTZ", "SAT", "RELU", "F32", "MMA")
        r.code = code
        r.result(s.regs[0])
        for k in range(count):
            _half(r, k, s.src[k])
        r.x = (_FTZ if r.has("FTZ") else 0) | (_SAT if r.has("SAT") else 0) | (_RELU if r.has("RELU") else 0)
        r.x |= (_BF16 if r.has("BF16_V2") else 0) | (_TO_F32 if r.has("F32") else 0)

    return translate


def _pack(r: Record) -> None:
    s = r.s
    r.only("F16", "BF16", "F32", "PACK_AB", "RELU")
    if not r.has("PACK_AB"):
        raise Unknown
    r.code = "F2FP"
    r.result(s.regs[0])
    r.real(s.src[0])
    r.real(s.src[1])
    r.x = (_RELU if r.has("RELU") else 0) | (_BF16 if r.has("BF16") else 0)


HALVES: Final[dict[str, Callable[[Record], None]]] = {
    "HADD2": _arithmetic("HADD2", 2), "HMUL2": _arithmetic("HMUL2", 2), "HFMA2": _arithmetic("HFMA2", 3), "F2FP": _pack,
}  # fmt: skip
"""Mnemonic -> what fills its record."""
