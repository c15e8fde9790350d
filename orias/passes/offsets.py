"""Width of the offset field of an address: what address folding may fill and the legaliser must keep to."""

from typing import Final

from orias.ori.ir import Inst

FOLDING: Final = (
    "LD", "LDG", "LDS", "LDL", "LDSM", "ST", "STG", "STS", "STL", "STSM", "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "LDGSTS", "CCTL",
)  # fmt: skip
"""Operations whose addresses take a byte offset."""

_BITS = 24
"""Signed; the field of plain loads, stores and atomics (sm_75 to sm_90)."""
_COPY_SHARED_BITS = 20
_COPY_GLOBAL_BITS = 12
"""LDGSTS has both addresses in one word: 20 bits for the shared one, 12 for the global one (seen with ptxas on sm_80)."""


def offset_fits(inst: Inst, group: int, offset: int) -> bool:
    """True if the address group that starts at source `group` can hold the byte offset."""
    bits = _BITS
    if inst.op.base == "LDGSTS":
        bits = _COPY_SHARED_BITS if group == 0 else _COPY_GLOBAL_BITS
    limit = 1 << (bits - 1)
    return -limit <= offset < limit
