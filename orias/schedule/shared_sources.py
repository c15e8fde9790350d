"""Factors that instructions of a piece share, where the read ports of the registers are what a piece waits for.

A register that the instruction before has read in the same field comes from the reuse cache (:mod:`orias.timing.register_ports`).  Two
ports serve products with three registers each only if every other one finds one there.
"""

from itertools import pairwise
from typing import Final

from orias.isa.isa_table import IsaTable
from orias.isa.operand import K_R, Opnd, in_file, is_zero_reg, without_flags
from orias.ori.ir import Inst
from orias.schedule.spread_reads import PlayedReads
from orias.timing.units import Units

_SOURCES: Final = 3
_NEAR: Final = 2
"""Cycles between two instructions over which registers are kept."""


def shared_sources(insts: list[Inst]) -> list[set[Opnd]]:
    """The factors of each instruction that reads three registers, without flags; empty if such are less than a quarter of the piece."""
    out: list[set[Opnd]] = []
    full = 0
    for inst in insts:
        factors: set[Opnd] = set()
        src = inst.src
        if len(src) == _SOURCES and not inst.op.addr and all(in_file(o, K_R) and not is_zero_reg(o) for o in src):
            if src[0] != src[1] and src[0] != src[2] and src[1] != src[2]:
                full += 1
                factors = {without_flags(src[0]), without_flags(src[1])}
        out.append(factors)
    return out if 4 * full > len(insts) else []


def lost_cycles(piece: list[Inst], order: list[int], at: list[int], table: IsaTable, u: Units) -> int:
    """The cycles that a piece loses to reads that collide in an order; `at`: the cycle of each instruction without them."""
    cycles = [max(1, at[b] - at[a]) for a, b in pairwise(order)]
    passes = [False, *(c <= _NEAR for c in cycles)]
    return PlayedReads([piece[k] for k in order], [*cycles, 1], passes, table, u).lost(0, len(order))
