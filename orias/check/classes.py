"""Classes of operations in the table of measured distances."""

from typing import Final

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.isa.op import Op
from orias.isa.operand import K_UR, KIND_MASK, Opnd
from orias.schedule.latency import base_class
from orias.schedule.units import Units

KINDS: Final[tuple[str, ...]] = ("gpr", "ugpr", "pred", "guard", "upred", "uguard")
_GPR, _UGPR, _PRED, _GUARD, _UPRED, _UGUARD = range(6)


_MEMORY: Final[dict[str, str]] = {
    "LD": "LDST", "LDG": "LDST", "LDL": "LDST", "ST": "LDST", "STG": "LDST", "STL": "LDST", "ATOM": "LDST", "ATOMG": "LDST", "RED": "LDST",
    "REDG": "LDST", "LDS": "SHARED", "STS": "SHARED", "LDSM": "SHARED", "STSM": "SHARED", "ATOMS": "SHARED",
}  # fmt: skip
"""Columns of the operations of the memory pipe; others have their own."""


def kind_of(unit: int, slot: int) -> int:
    """Number of the kind of a dependence (an index of KINDS) by the register and the reading position."""
    if unit < UR_BASE:
        return _GPR
    if unit < P_BASE:
        return _UGPR
    if unit < UP_BASE:
        return _GUARD if slot == SLOT_GUARD else _PRED
    return _UGUARD if slot == SLOT_GUARD and unit < B_BASE else _UPRED


def producer_class(op: Op, word: int, u: Units) -> str:
    """Row of the table: products of two passes have a row for each word."""
    name = base_class(op, u)
    if name == "WIDE":
        return "WIDE.0" if word == 0 and "WIDE" in op.mods else "WIDE.1"
    return name


def consumer_class(op: Op, src: list[Opnd], slot: int, u: Units) -> str:
    """Column of the table: descriptors and accumulators have their own."""
    name = base_class(op, u)
    if name == "MEM":
        name = _MEMORY.get(op.base, op.base)
    if slot < len(src) and src[slot] & KIND_MASK == K_UR and op.addr and slot in op.addr:
        return f"{name}.D"
    if name.startswith("MMA.") and slot == 2:
        return f"{name}.C"
    if name == "WIDE" and slot == 2:
        return "WIDE.C"
    return name
