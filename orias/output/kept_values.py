"""With -g: where values can still be found after their last use.

A register keeps its value until something else is written into it.  Where the PTX register has one definition, that value
is its value to the end of the function, so a debugger may show it.
"""

from collections import Counter
from typing import Final

from orias.analysis.access import accesses, units_of
from orias.isa.op import F_CALL
from orias.isa.operand import K_P, K_R, PAYLOAD_SHIFT
from orias.ori.ir import Block, Func, Location

_FILES: Final = (K_R, K_P)


def with_kept_values(fn: Func) -> list[Location]:
    """The locations of a function after all phases, each as long as the register surely holds the value."""
    counts = Counter(name for names in fn.names.values() for name, _ in names)
    single = [x for x in fn.locations if counts[x.name] == 1 and x.file in _FILES]
    if not single:
        return fn.locations
    state = _Values(fn, single)
    state.solve()
    return [x for x in fn.locations if counts[x.name] != 1 or x.file not in _FILES] + state.locations()


class _Values:
    """Which values are where: a bit for each word of a PTX register in one physical register."""

    def __init__(self, fn: Func, found: list[Location]) -> None:
        self.fn: Final[Func] = fn
        self.keys: Final[list[Location]] = []
        self.unit: Final[dict[int, int]] = {}
        """Unit of :mod:`orias.analysis.access` -> the bits of the values that it may hold."""
        self.starts: Final[dict[int, int]] = {}
        self.ends: Final[dict[int, int]] = {}
        """Uid -> the bits of values that are located from, or to, this instruction."""
        bits: dict[tuple[str, str, int, int, int], int] = {}
        for x in found:
            key = (x.name, x.type, x.word, x.file, x.number)
            if key not in bits:
                bits[key] = 1 << len(bits)
                self.keys.append(x)
                for u in units_of(x.file | x.number << PAYLOAD_SHIFT, 1):
                    self.unit[u] = self.unit.get(u, 0) | bits[key]
            self.starts[x.first] = self.starts.get(x.first, 0) | bits[key]
            self.ends[x.last] = self.ends.get(x.last, 0) | bits[key]
        self.all: Final[int] = (1 << len(bits)) - 1
        self.out: Final[dict[int, int]] = {b.id: self.all for b in fn.blocks}

    def _before(self, b: Block) -> int:
        """The values at the start of a block: those at the ends of all blocks before it."""
        mask = self.all if b.preds else 0
        for p in b.preds:
            mask &= self.out[p.id]
        return mask

    def _walk(self, b: Block) -> list[tuple[int, int]]:
        """For each instruction of a block its uid and the values before it; the last pair has uid 0."""
        mask = self._before(b)
        located = 0
        found: list[tuple[int, int]] = []
        for inst in b.insts:
            located |= self.starts.get(inst.uid, 0)
            mask |= located
            found.append((inst.uid, mask))
            ends = self.ends.get(inst.uid, 0)
            located &= ~ends
            if inst.op.flags & F_CALL:
                mask = 0
            for w in accesses(inst, self.fn).writes:
                mask &= ~self.unit.get(w >> 8, 0)
        found.append((0, mask))
        return found

    def solve(self) -> None:
        """Finds the values at the ends of all blocks; masks only lose bits, so this ends."""
        changed = True
        while changed:
            changed = False
            for b in self.fn.blocks:
                mask = self._walk(b)[-1][1] & self.out[b.id]
                if mask != self.out[b.id]:
                    self.out[b.id] = mask
                    changed = True

    def locations(self) -> list[Location]:
        """The runs of instructions in each block."""
        found: list[Location] = []
        for b in self.fn.blocks:
            began: dict[int, int] = {}
            previous = before = 0
            for uid, mask in self._walk(b):
                now = mask if uid else 0
                for k in _bits(before & ~now):
                    x = self.keys[k]
                    found.append(Location(x.name, x.type, x.word, x.file, x.number, began.pop(k), previous))
                for k in _bits(now & ~before):
                    began[k] = uid
                previous, before = uid, now
        return found


def _bits(mask: int) -> list[int]:
    """The numbers of the bits that are set."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
