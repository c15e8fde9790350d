"""With -g: where values can still be found after their last use.

A register keeps its value until something else is written into it.  That value is the PTX register's until a PTX
instruction assigns it again, so a debugger may show it.
"""

from typing import Final

from orias.analysis.access import accesses, units_of
from orias.isa.op import F_CALL
from orias.isa.operand import K_P, K_R, imm_value, r, reg
from orias.isa.roles import LOCAL_STORES
from orias.ori.ir import ON_STACK, Block, Func, Inst, Location

_FILES: Final = (K_R, K_P, ON_STACK)
_WORD_BYTES: Final = 4
_FRAME: Final = r(1)


def written_units(functions: list[Func]) -> dict[str, set[int]]:
    """For each function the units (:mod:`orias.analysis.access`) that it may write, itself or in calls.

    Functions that call what is not among them are left out.
    """
    found: dict[str, set[int]] = {}
    callees: dict[str, set[str | None]] = {}
    for fn in functions:
        units: set[int] = set()
        targets: set[str | None] = set()
        for inst in (i for b in fn.blocks for i in b.insts):
            info = fn.calls.get(inst.uid) if inst.op.flags & F_CALL else None
            if info is not None and not info.exact:
                targets.add(info.target)
                continue
            if info is None and inst.op.flags & F_CALL:
                targets.add(None)
            units.update([w >> 8 for w in accesses(inst, fn).writes])
        found[fn.name], callees[fn.name] = units, targets
    changed = True
    while changed:
        changed = False
        for name, targets in callees.items():
            if name not in found:
                continue
            size = len(found[name])
            for target in targets:
                if target is None or target not in found:
                    del found[name]
                    changed = True
                    break
                found[name] |= found[target]
            else:
                changed = changed or len(found[name]) != size
    return found


def with_kept_values(fn: Func, written: dict[str, set[int]]) -> list[Location]:
    """The locations of a function after all phases, each as long as the register surely holds the value.

    `written`: what known callees write, in truth; others may write all that the calling convention lets them.
    """
    found = [x for x in fn.locations if x.file in _FILES]
    if not found:
        return []
    state = _Values(fn, found, written)
    state.solve()
    return state.locations()


class _Values:
    """Which values are where: a bit for each word of a PTX register in one physical register."""

    def __init__(self, fn: Func, found: list[Location], written: dict[str, set[int]]) -> None:
        self.fn: Final[Func] = fn
        self.written: Final[dict[str, set[int]]] = written
        self.keys: Final[list[Location]] = []
        self.unit: Final[dict[int, int]] = {}
        """Unit of :mod:`orias.analysis.access` -> the bits of the values that it may hold."""
        self.named: Final[dict[str, int]] = {}
        """PTX register -> the bits of its words."""
        self.word: Final[dict[tuple[str, int], int]] = {}
        """PTX register and word -> the bits of its places."""
        self.starts: Final[dict[int, int]] = {}
        self.ends: Final[dict[int, int]] = {}
        """Uid -> the bits of values that are located from, or to, this instruction."""
        self.stored: Final[dict[int, int]] = {}
        """Uid of a store -> the bits of the values that it puts into the frame."""
        on_stack = 0
        bits: dict[tuple[str, str, int, int, int], int] = {}
        for x in found:
            key = (x.name, x.type, x.word, x.file, x.number)
            if key not in bits:
                bit = 1 << len(bits)
                bits[key] = bit
                self.keys.append(x)
                for u in _units(x):
                    self.unit[u] = self.unit.get(u, 0) | bit
                if x.file == ON_STACK:
                    on_stack |= bit
                self.named[x.name] = self.named.get(x.name, 0) | bit
                self.word[x.name, x.word] = self.word.get((x.name, x.word), 0) | bit
            if x.file == ON_STACK:
                self.stored[x.first] = self.stored.get(x.first, 0) | bits[key]
                continue
            self.starts[x.first] = self.starts.get(x.first, 0) | bits[key]
            self.ends[x.last] = self.ends.get(x.last, 0) | bits[key]
        self.all: Final[int] = (1 << len(bits)) - 1
        self.in_registers: Final[int] = self.all & ~on_stack
        self.assigned: Final[dict[int, int]] = {
            line: sum({n: self.named.get(n, 0) for n in names}.values()) for line, names in fn.assigned.items()
        }
        """PTX line -> the bits of the registers that it assigns."""
        self.set: Final[dict[int, int]] = {b.id: 0 for b in fn.blocks}
        """The bits of the registers that some path to the end of a block assigns."""
        self.out: Final[dict[int, int]] = {b.id: self.all for b in fn.blocks}
        """The values that are in their places at the end of a block, on all paths that assign the PTX register."""

    def _set_before(self, b: Block) -> int:
        found = 0
        for p in b.preds:
            found |= self.set[p.id]
        return found

    def _before(self, b: Block) -> int:
        """The values at the start of a block: those at the ends of all blocks before it."""
        mask = self.all
        for p in b.preds:
            mask &= self.out[p.id]
        return mask

    def _set_in(self, inst: Inst) -> int:
        """The bits of the PTX registers that have a value when an instruction has run, if not before."""
        found = self.assigned.get(inst.loc, 0)
        for k in _bits(self.starts.get(inst.uid, 0) | self.stored.get(inst.uid, 0)):
            found |= self.named[self.keys[k].name]
        return found

    def _walk(self, b: Block) -> list[tuple[int, int]]:
        """For each instruction of a block its uid and the values before it; the last pair has uid 0."""
        mask = self._before(b)
        known = self._set_before(b)
        located = gone = 0
        line = -1
        found: list[tuple[int, int]] = []
        for inst in b.insts:
            if inst.loc != line:
                # The values that the line before replaced are gone, and those that this one replaces go after its
                # first instruction.
                mask &= ~gone
                located &= ~gone
                known |= gone
                line = inst.loc
                gone = self.assigned.get(line, 0)
            started = self.starts.get(inst.uid, 0)
            for k in _bits(started & ~located):
                x = self.keys[k]
                mask &= ~self.word[x.name, x.word] | located
                known |= self.named[x.name]
            located |= started
            mask |= located
            gone &= ~started
            found.append((inst.uid, mask & known))
            located &= ~self.ends.get(inst.uid, 0)
            mask &= ~gone | located
            mask &= ~(self._lost(inst) & known)
            stored = self.stored.get(inst.uid, 0)
            for k in _bits(stored):
                known |= self.named[self.keys[k].name]
            mask |= stored
            gone &= ~stored
        found.append((0, mask & ~gone))
        return found

    def _lost(self, inst: Inst) -> int:
        """The values that an instruction may overwrite."""
        if inst.op.flags & F_CALL:
            info = self.fn.calls.get(inst.uid)
            if info is None or not (info.exact or info.clobber_r):
                return self.in_registers
            written = None if info.exact or info.target is None else self.written.get(info.target)
            if written is not None:
                # It restores the others that it writes.
                lost = 0
                for w in accesses(inst, self.fn).writes:
                    if w >> 8 in written:
                        lost |= self.unit.get(w >> 8, 0)
                return lost
        lost = 0
        if inst.op in LOCAL_STORES and inst.src[1] == _FRAME:
            at = imm_value(inst.src[3])
            for word in range(2 if inst.op.mods else 1):
                lost |= self.unit.get(_stack_unit(at + _WORD_BYTES * word), 0)
        for w in accesses(inst, self.fn).writes:
            lost |= self.unit.get(w >> 8, 0)
        return lost

    def solve(self) -> None:
        """Finds the values at the ends of all blocks; what is set only gains bits, masks only lose bits, so this ends."""
        changed = True
        while changed:
            changed = False
            for b in self.fn.blocks:
                found = self._set_before(b)
                for inst in b.insts:
                    found |= self._set_in(inst)
                if found != self.set[b.id]:
                    self.set[b.id] = found
                    changed = True
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


def _stack_unit(offset: int) -> int:
    """The unit of a word of the frame; those of registers are not negative."""
    return -1 - offset


def _units(x: Location) -> list[int]:
    if x.file == ON_STACK:
        return [_stack_unit(x.number)]
    return list(units_of(reg(x.file, x.number), 1))


def _bits(mask: int) -> list[int]:
    """The numbers of the bits that are set."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
