"""The sources of a sum that go into it unchanged: where the address is that a place in an array begins with."""

from typing import Final

from orias.isa.operand import Opnd
from orias.ori.ir import Inst

_PLAIN_SUMS: Final = ("IADD3", "iadd64")
_ADDEND: Final[dict[str, int]] = {"IMAD": 2, "LEA": 1}
"""Sums with a multiple, and which source is the other addend."""


def is_plain_sum(inst: Inst) -> bool:
    """True for a sum of all its sources."""
    return inst.op.name in _PLAIN_SUMS


def addends(inst: Inst) -> list[Opnd]:
    """The sources that a sum adds as they are; none if it is no sum."""
    if is_plain_sum(inst):
        return inst.src
    at = _ADDEND.get(inst.op.name)
    return [] if at is None else [inst.src[at]]
