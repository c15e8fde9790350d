"""Maps virtual registers to rows of the machine."""

from typing import Final

from orias.isa.operand import (
    FIRST_VIRTUAL,
    K_B,
    K_P,
    K_R,
    K_UP,
    K_UR,
    Opnd,
    has_lane,
    kind_of,
    lane_words,
    reg_id,
    with_reg,
    without_lane,
)
from orias.ori.ir import Func

_FIRST: Final[dict[int, int]] = {K_R: 256, K_UR: 256, K_P: 8, K_UP: 8, K_B: 16}


class Rows:
    """The rows of each register file for the functions of a kernel."""

    def __init__(self) -> None:
        self.next: dict[int, int] = dict(_FIRST)
        self._of: dict[str, dict[int, int]] = {}

    def count(self, file: int) -> int:
        """Number of rows of a file after the physical registers."""
        return self.next[file] - _FIRST[file]

    def fresh(self, file: int, width: int) -> int:
        """Adds `width` rows; returns the first."""
        first = self.next[file]
        self.next[file] = first + width
        return first

    def add(self, fn: Func) -> None:
        """Adds rows for the virtual registers of a function."""
        mine: dict[int, int] = {}
        for ident in range(FIRST_VIRTUAL, len(fn.vkind)):
            mine[ident] = self.fresh(fn.vkind[ident], max(1, fn.vwidth[ident]))
        self._of[fn.name] = mine

    def map(self, fn: Func, o: Opnd) -> Opnd:
        """An operand whose virtual register is replaced by its row; other operands stay."""
        ident = reg_id(o)
        if ident < FIRST_VIRTUAL or kind_of(o) not in _FIRST:
            return o
        first = lane_words(o, 0)[0] if has_lane(o) else 0
        row = self._of[fn.name][ident] + first
        return with_reg(without_lane(o), row)

    def of(self, fn: Func) -> range:
        """The rows of ``R`` that a function owns."""
        mine = [self._of[fn.name][i] for i in range(FIRST_VIRTUAL, len(fn.vkind)) if fn.vkind[i] == K_R]
        widths = [max(1, fn.vwidth[i]) for i in range(FIRST_VIRTUAL, len(fn.vkind)) if fn.vkind[i] == K_R]
        return range(mine[0], mine[-1] + widths[-1]) if mine else range(0)
