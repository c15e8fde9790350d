"""Orders of products where the read ports of the registers are what a piece waits for.

A register that an instruction shortly before has read in the same field comes from the reuse cache (:mod:`orias.timing.register_ports`).
Two ports serve products with three registers each only if every other one finds one there, and if what leans to one bank
follows what leans to the other.
"""

from itertools import pairwise
from typing import Final, final

from orias.isa.isa_table import IsaTable
from orias.isa.op import F_COMMUTES
from orias.isa.operand import K_R, in_file, is_zero_reg
from orias.ori.ir import Inst
from orias.schedule.reuse import REACH
from orias.schedule.spread_reads import PlayedReads
from orias.timing.register_ports import BANKS, SLOTS, RegisterPorts
from orias.timing.units import Units

_SOURCES: Final = 3
_NEAR: Final = 2
"""Cycles between two instructions over which registers are kept."""


def has_many_reads(insts: list[Inst]) -> bool:
    """Whether the instructions of a piece read more than five registers in four of them."""
    reads = 0
    for inst in insts:
        if not inst.op.addr:
            for o in inst.src:
                reads += in_file(o, K_R) and not is_zero_reg(o)
    return 4 * reads > 5 * len(insts)


def lost_cycles(piece: list[Inst], order: list[int], at: list[int], table: IsaTable, u: Units) -> int:
    """The cycles that a piece loses to reads that collide in an order; `at`: the cycle of each instruction without them."""
    cycles = [max(1, at[b] - at[a]) for a, b in pairwise(order)]
    passes = [False, *(c <= _NEAR for c in cycles)]
    return PlayedReads([piece[k] for k in order], [*cycles, 1], passes, table, u).lost(0, len(order))


@final
class ReadCosts:
    """What the reads of the next instruction of a piece cost after those that are placed.

    A register that is kept for one factor of a product counts for the other one too: they may change places
    (:mod:`orias.schedule.spread_reads`).
    """

    __slots__ = ("_at", "_by", "_commutes", "_count", "_kept", "_need", "_played", "_ports", "_spared", "_stage")

    def __init__(self, piece: list[Inst], table: IsaTable, u: Units, spared: int) -> None:
        n = len(piece)
        self._spared: Final[int] = spared
        """What a read that an instruction is spared counts for; one that it waits for counts for `BANKS`."""
        self._played: Final[PlayedReads] = PlayedReads(piece, [1] * n, [True] * n, table, u)
        self._commutes: Final[list[bool]] = [i.op.flags & F_COMMUTES != 0 for i in piece]
        self._ports: Final[RegisterPorts] = RegisterPorts()
        self._kept: Final[list[int]] = [-1] * (BANKS * SLOTS)
        self._by: Final[list[int]] = [0] * (BANKS * SLOTS)
        self._need: Final[list[int]] = [0] * BANKS
        self._count: int = 0
        self._at: int = 0
        self._stage: int = 0

    def _look(self, k: int, now: int) -> tuple[int, bool]:
        """Counts the reads of each bank that an instruction needs; returns those that it is spared, and whether its factors change places for that."""
        need = self._need
        need[0] = need[1] = 0
        passes = now - self._at <= _NEAR
        straight = across = 0
        reads = self._played.reads[k]
        if passes:
            for x in reads:
                straight += self._has(x >> 2, x & 3)
            if self._commutes[k]:
                for x in reads:
                    across += self._has(x >> 2, x & 3 ^ 1 if x & 3 < 2 else 2)
        flip = across > straight
        for x in reads:
            field = x & 3 ^ 1 if flip and x & 3 < 2 else x & 3
            if not passes or not self._has(x >> 2, field):
                need[x >> 2 & 1] += 1
        return max(straight, across), flip

    def _has(self, register: int, field: int) -> bool:
        entry = (register & 1) * SLOTS + field
        return self._kept[entry] == register and self._count - self._by[entry] <= REACH

    def gain(self, k: int, now: int) -> int:
        """The reads that an instruction is spared if it is the next one, less those that it waits for."""
        if not self._played.reads[k]:
            return 0
        hits, _ = self._look(k, now)
        free = self._ports.free
        even, odd = free
        enter = max(now, self._stage)
        lost = self._ports.book(enter, self._need) - enter
        free[0], free[1] = even, odd
        return hits * self._spared - BANKS * lost

    def place(self, k: int, now: int) -> None:
        """An instruction is the next one."""
        _, flip = self._look(k, now)
        enter = max(now, self._stage)
        self._stage = self._ports.book(enter, self._need) + 1
        self._count += 1
        for x in self._played.reads[k]:
            field = x & 3 ^ 1 if flip and x & 3 < 2 else x & 3
            entry = (x >> 2 & 1) * SLOTS + field
            self._kept[entry], self._by[entry] = x >> 2, self._count
        for register in self._played.writes[k]:
            for e in range((register & 1) * SLOTS, (register & 1) * SLOTS + SLOTS):
                if self._kept[e] == register:
                    self._kept[e] = -1
        self._at = now
