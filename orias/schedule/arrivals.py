"""Late results that are still under way where a block or a piece of it begins.

The scheduler works on pieces of straight-line code.  A value that was loaded in a predecessor arrives some time after the
piece has begun; its readers are scheduled for then, not for the first cycle.
"""

from typing import Final, final

from orias.isa.operand import is_vreg, vreg
from orias.ori.ir import OP_PHI, Block


@final
class Arrivals:
    """The cycles until registers arrive: virtual registers before allocation, units after it.

    ``now``: register -> cycles from the start of the present piece.
    """

    __slots__ = ("_edge", "_ends", "now")

    def __init__(self, edge: int) -> None:
        self._edge: Final[int] = edge
        """Cycles between the last instruction of a block and the first of the next, for a branch."""
        self._ends: Final[dict[int, dict[int, int]]] = {}
        """Block -> registers that arrive after its end, with the cycles from there."""
        self.now: dict[int, int] = {}

    def enter(self, b: Block) -> None:
        """Starts a block: what arrives after the ends of its predecessors, as far as these have been scheduled."""
        now: dict[int, int] = {}
        for j, p in enumerate(b.preds):
            ends = self._ends.get(p.id)
            if not ends:
                continue
            for register, left in ends.items():
                if left > now.get(register, 0):
                    now[register] = left
            for inst in b.insts:
                if inst.op is not OP_PHI:
                    break
                left = ends.get(vreg(inst.src[j]), 0) if is_vreg(inst.src[j]) else 0
                if left > now.get(vreg(inst.dst[0]), 0):
                    now[vreg(inst.dst[0])] = left
        self.now = now

    def passed(self, cycles: int, waited: set[int], made: dict[int, int]) -> None:
        """Ends a piece that took some cycles, waited for registers, and made some that arrive after its end."""
        now = {r: left - cycles for r, left in self.now.items() if left > cycles and r not in waited}
        now.update(made)
        self.now = now

    def leave(self, b: Block) -> None:
        """Ends a block."""
        ends = {r: left - self._edge for r, left in self.now.items() if left > self._edge}
        if ends:
            self._ends[b.id] = ends
