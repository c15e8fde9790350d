"""Classes of operations in the table of measured distances."""

from typing import Final

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.isa.op import Op
from orias.isa.operand import K_UR, Opnd, in_file
from orias.isa.operations import facts
from orias.timing.latency import base_class
from orias.timing.units import Units

KINDS: Final[tuple[str, ...]] = ("gpr", "ugpr", "pred", "guard", "upred", "uguard")
_GPR, _UGPR, _PRED, _GUARD, _UPRED, _UGUARD = range(6)


def kind_of(unit: int, slot: int) -> int:
    """The kind of a dependence (an index of KINDS) through register unit `unit`, read at source position `slot`."""
    if unit < UR_BASE:
        return _GPR
    if unit < P_BASE:
        return _UGPR
    if unit < UP_BASE:
        return _GUARD if slot == SLOT_GUARD else _PRED
    return _UGUARD if slot == SLOT_GUARD and unit < B_BASE else _UPRED


def producer_class(op: Op, word: int, u: Units) -> str:
    """The producer's row in the table; two-pass products have one row per result word.

    An operation whose own distances are those of habit names another row (P2R: ptxas leaves 4 to 14 cycles on one target).
    """
    f = facts(op.base)
    name = (f.value("row", op.mods) if f is not None else "") or base_class(op, u)
    if name == "WIDE":
        return "WIDE.0" if word == 0 and "WIDE" in op.mods else "WIDE.1"
    return name


def consumer_class(op: Op, src: list[Opnd], slot: int, u: Units) -> str:
    """The consumer's column in the table; descriptors and accumulators have their own columns."""
    name = base_class(op, u)
    if name == "MEM":
        f = facts(op.base)
        name = op.base if f is None else f.value("column", op.mods) or op.base
    if slot < len(src) and in_file(src[slot], K_UR) and op.addr and slot in op.addr:
        return f"{name}.D"
    if name.startswith("MMA.") and slot == 2:
        return f"{name}.C"
    if name == "WIDE" and slot == 2:
        return "WIDE.C"
    return name
