"""What counts on its own where live words are counted before allocation: a register, or each word of a wide one.

The allocator keeps the live range of every word (``docs/regalloc.md``).  What loads many words and hands them on one by one (tensor
memory, 256 bits of global memory) gives its registers back while it is read, so an order that counts it as a whole to its last
reader looks as if it needed half as many registers again.  The words of short vectors stay together: single ones that are free
between others are of no use to the next vector.
"""

from typing import Final, final

from orias.isa.operand import K_B, K_R, Opnd, is_vreg, kind_of, lane_of, lane_range, vreg
from orias.ori.ir import Func, Inst
from orias.schedule.deps import virtual_reads, virtual_writes

_WORD_SHIFT: Final = 32
"""A register that counts as a whole is its id; word w of register v is ``v | w + 1 << _WORD_SHIFT``."""


def register_of(item: int) -> int:
    """The virtual register of an item."""
    return item & ((1 << _WORD_SHIFT) - 1)


@final
class WordCounting:
    """The items of a function: registers, and the words of registers of ``SchedSplitWords`` words and more."""

    __slots__ = ("_known", "fn", "wide")

    def __init__(self, fn: Func) -> None:
        self.fn: Final[Func] = fn
        least = fn.knobs.sched_split_words
        self.wide: Final[frozenset[int]] = frozenset(
            [v for v in range(len(fn.vkind)) if fn.vwidth[v] >= least and fn.vkind[v] == K_R]
        )
        """The registers whose words count one by one."""
        self._known: Final[dict[int, tuple[list[int], list[int]]]] = {}

    def registers(self, inst: Inst) -> tuple[list[int], list[int]]:
        """The registers that an instruction reads, including old value and guard, and writes; no order changes them."""
        found = self._known.get(inst.uid)
        if found is None:
            found = self._known[inst.uid] = virtual_reads(inst), virtual_writes(inst)
        return found

    def reads(self, inst: Inst) -> list[int]:
        """The items that an instruction reads, including old value and guard."""
        if not self.wide:
            return self.registers(inst)[0]
        out: list[int] = []
        for o in inst.src:
            if is_vreg(o) and kind_of(o) <= K_B:
                self._add(out, o)
        if is_vreg(inst.guard):
            out.append(vreg(inst.guard))
        if is_vreg(inst.old) and kind_of(inst.old) <= K_B:
            self._add(out, inst.old)
        return out

    def writes(self, inst: Inst) -> list[int]:
        """The items that an instruction writes."""
        if not self.wide:
            return self.registers(inst)[1]
        out: list[int] = []
        for d in inst.dst:
            if is_vreg(d):
                self._add(out, d)
        return out

    def split(self, register: int) -> list[int]:
        """The items of a register."""
        if register not in self.wide:
            return [register]
        return [register | (w + 1) << _WORD_SHIFT for w in range(self.fn.vwidth[register])]

    def words(self, item: int) -> int:
        """Words of R registers of an item; 0 in other files."""
        if item >> _WORD_SHIFT:
            return 1
        return self.fn.vwidth[item] if self.fn.vkind[item] == K_R else 0

    def _add(self, out: list[int], o: Opnd) -> None:
        """Add the items of an operand."""
        register = vreg(o)
        if register not in self.wide:
            out.append(register)
            return
        first, count = lane_range(lane_of(o), self.fn.vwidth[register])
        for w in range(first, first + count):
            out.append(register | (w + 1) << _WORD_SHIFT)
