"""Virtual registers as rows of the machine, and operands that name them."""

from typing import Final

from orias.isa.operand import (
    FIRST_VIRTUAL,
    FLAG_MASK,
    K_B,
    K_P,
    K_R,
    K_UP,
    K_UR,
    KIND_MASK,
    LANE_MASK,
    LANE_SHIFT,
    PAYLOAD_SHIFT,
    SUFFIX_MASK,
    Opnd,
    lane_range,
)
from orias.ori.ir import Func

_FIRST: Final[dict[int, int]] = {K_R: 256, K_UR: 256, K_P: 8, K_UP: 8, K_B: 16}


class Rows:
    """Rows of every file for the functions of a kernel."""

    def __init__(self) -> None:
        self.next: dict[int, int] = dict(_FIRST)
        self._of: dict[str, dict[int, int]] = {}

    def count(self, file: int) -> int:
        """Rows of a file behind the physical registers."""
        return self.next[file] - _FIRST[file]

    def fresh(self, file: int, width: int) -> int:
        """The first of some new rows."""
        first = self.next[file]
        self.next[file] = first + width
        return first

    def add(self, fn: Func) -> None:
        """Rows for the virtual registers of a function."""
        mine: dict[int, int] = {}
        for ident in range(FIRST_VIRTUAL, len(fn.vkind)):
            mine[ident] = self.fresh(fn.vkind[ident], max(1, fn.vwidth[ident]))
        self._of[fn.name] = mine

    def map(self, fn: Func, o: Opnd) -> Opnd:
        """An operand with its row instead of a virtual register; physical ones and all else stay."""
        ident = o >> PAYLOAD_SHIFT
        if ident < FIRST_VIRTUAL or o & KIND_MASK not in _FIRST:
            return o
        first = lane_range((o & LANE_MASK) >> LANE_SHIFT, 0)[0] if o & LANE_MASK else 0
        row = self._of[fn.name][ident] + first
        return (o & (KIND_MASK | FLAG_MASK | SUFFIX_MASK)) | row << PAYLOAD_SHIFT

    def of(self, fn: Func) -> range:
        """The rows of ``R`` that a function owns."""
        mine = [self._of[fn.name][i] for i in range(FIRST_VIRTUAL, len(fn.vkind)) if fn.vkind[i] == K_R]
        widths = [max(1, fn.vwidth[i]) for i in range(FIRST_VIRTUAL, len(fn.vkind)) if fn.vkind[i] == K_R]
        return range(mine[0], mine[-1] + widths[-1]) if mine else range(0)
