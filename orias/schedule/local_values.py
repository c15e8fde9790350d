"""Values of blocks in R registers after allocation, and their exchange between registers.

A value is what a register holds from the instruction that writes it to its last reader.  Where both are in one block, the
value may go to another register that holds nothing meanwhile; what that register holds may go the other way.
"""

from typing import Final, final

from orias.analysis.access import SLOT_GUARD, UR_BASE, accesses
from orias.isa.op import F_ATOMIC, F_CALL, F_RETURNS, F_TEXTURE, F_WGMMA, F_WGMMA_SYNC
from orias.isa.operand import K_R, PT, Opnd, in_file, reg_id, with_reg
from orias.ori.ir import Block, Func, Inst

_ALL: Final = (1 << UR_BASE) - 1
_OPAQUE: Final = F_CALL | F_RETURNS
"""Operations that read registers which are no operands of theirs."""
_WHOLE: Final = F_ATOMIC | F_TEXTURE | F_WGMMA | F_WGMMA_SYNC
"""Operations with registers that must be neighbours although each is an operand, or that read registers after later instructions."""
_MOST_VALUES: Final = 6
"""Values that change registers together at most."""


@final
class Value:
    """What a register holds from after instruction ``first`` of a block (-1: its start) to instruction ``last``.

    ``reads``, ``writes``: the instructions that read and write it, ascending; more than one writes it if their guards may
    be false.  ``bound``: it has to stay in its register.
    """

    __slots__ = ("bound", "first", "last", "reads", "register", "writes")

    def __init__(self, register: int, first: int, last: int) -> None:
        self.register: int = register
        self.first: Final[int] = first
        self.last: int = last
        self.reads: Final[list[int]] = []
        self.writes: Final[list[int]] = []
        self.bound: bool = first < 0


@final
class Registers:
    """The R registers that a function uses, and those that are live at the ends of its blocks."""

    __slots__ = ("free", "live_out")

    def __init__(self, fn: Func) -> None:
        self.free: int = 0
        """Those that values may take: the function writes them anyway."""
        self.live_out: Final[dict[int, int]] = {}
        kept = 1 << 1
        reads: dict[int, int] = {}
        writes: dict[int, int] = {}
        for b in fn.blocks:
            read = written = 0
            for inst in b.insts:
                if inst.op.flags & _OPAQUE:
                    read |= _ALL & ~written
                a = accesses(inst, fn)
                for x in a.reads:
                    if x >> 8 < UR_BASE and not written >> (x >> 8) & 1:
                        read |= 1 << (x >> 8)
                mine = 0
                for x in a.writes:
                    if x >> 8 < UR_BASE:
                        mine |= 1 << (x >> 8)
                if inst.guard == PT:
                    written |= mine
                if inst.op.flags & F_WGMMA:
                    kept |= mine
                    for x in a.reads:
                        kept |= 1 << (x >> 8)
                if not inst.op.flags & F_CALL:
                    # What a callee may change is not always below the kernel's highest register.
                    self.free |= mine
            reads[b.id], writes[b.id] = read, written
            self.live_out[b.id] = 0
        self.free &= ~kept
        live_in = dict(reads)
        work = list(fn.blocks)
        waiting = {b.id for b in work}
        while work:
            b = work.pop()
            waiting.discard(b.id)
            out = 0
            for s in b.succs:
                out |= live_in[s.id]
            self.live_out[b.id] = out
            new = reads[b.id] | out & ~writes[b.id]
            if new != live_in[b.id]:
                live_in[b.id] = new
                for p in b.preds:
                    if p.id not in waiting:
                        waiting.add(p.id)
                        work.append(p)


@final
class LocalValues:
    """The values of one block; those that the instructions of `joined` read or write have to stay in their registers."""

    __slots__ = ("_bound", "_held", "_insts", "at", "free", "of")

    def __init__(self, fn: Func, b: Block, registers: Registers, joined: set[int]) -> None:
        self._insts: Final[list[Inst]] = b.insts
        self.free: Final[int] = registers.free
        self.of: Final[dict[int, list[Value]]] = {}
        """The values of each register."""
        self.at: Final[list[list[Value]]] = [[] for _ in b.insts]
        """The values that each instruction reads."""
        self._held: Final[list[int]] = [0] * (len(b.insts) + 1)
        """The registers that hold a value before the first instruction and after each."""
        self._bound: Final[list[int]] = [0] * (len(b.insts) + 1)
        """Those whose values have to stay there."""
        now: dict[int, Value] = {}
        for k, inst in enumerate(b.insts):
            a = accesses(inst, fn)
            whole = inst.op.flags & _WHOLE != 0 or inst.uid in joined
            read: dict[int, list[int]] = {}
            for x in a.reads:
                if x >> 8 < UR_BASE:
                    read.setdefault(x >> 8, []).append(x & 255)
            words: dict[int, int] = {}
            for slots in read.values():
                for slot in slots:
                    words[slot] = words.get(slot, 0) + 1
            for r, slots in read.items():
                v = now.get(r)
                if v is None:
                    v = now[r] = self._new(r, -1)
                v.reads.append(k)
                v.last = k
                self.at[k].append(v)
                if whole or any(s >= SLOT_GUARD - 1 or words[s] > 1 for s in slots):
                    v.bound = True
            if inst.op.flags & _OPAQUE:
                for v in now.values():
                    v.last, v.bound = len(b.insts), True
            results: dict[int, int] = {}
            for x in a.writes:
                results[x & 15] = results.get(x & 15, 0) + 1
            for x in a.writes:
                r = x >> 8
                if r >= UR_BASE:
                    continue
                v = now.get(r)
                if inst.guard == PT:
                    v = now[r] = self._new(r, k)
                elif v is None:
                    v = now[r] = self._new(r, -1)
                v.writes.append(k)
                v.last = max(v.last, k + 1)
                if whole or results[x & 15] > 1 or not _names(inst.dst, x & 15, r):
                    v.bound = True
        live = registers.live_out[b.id]
        r = 0
        while live >> r:
            if live >> r & 1:
                v = now.get(r)
                if v is None:
                    v = self._new(r, -1)
                v.last, v.bound = len(b.insts), True
            r += 1
        values = [v for found in self.of.values() for v in found]
        _mark(self._held, values)
        _mark(self._bound, [v for v in values if v.bound])

    def _new(self, register: int, first: int) -> Value:
        v = Value(register, first, first + 1)
        self.of.setdefault(register, []).append(v)
        return v

    def among(self, register: int, v: Value) -> list[Value]:
        """The values of a register while `v` lives."""
        return [x for x in self.of.get(register, ()) if x.first < v.last and v.first < x.last]

    def taken(self, first: int, last: int) -> int:
        """A mask of the registers that hold a value somewhere between two instructions (-1: the start of the block)."""
        mask = 0
        for held in self._held[first + 1 : last + 1]:
            mask |= held
        return mask

    def bound(self, first: int, last: int) -> int:
        """A mask of those among :meth:`taken` that hold a value which has to stay there."""
        mask = 0
        for held in self._bound[first + 1 : last + 1]:
            mask |= held
        return mask

    def _occupy(self, v: Value) -> None:
        bit = 1 << v.register
        for k in range(v.first + 1, v.last + 1):
            self._held[k] |= bit

    def exchanged(self, v: Value, register: int) -> list[Value]:
        """The values that change places between the register of `v` and another one if `v` goes there; empty if it cannot."""
        if v.bound:
            return []
        out = [v]
        for x in out:
            if len(out) > _MOST_VALUES:
                return []
            for y in self.among(register if x.register == v.register else v.register, x):
                if y.bound:
                    return []
                if y not in out:
                    out.append(y)
        return out

    def exchange(self, values: list[Value], register: int) -> None:
        """Moves values between two registers: that of the first of them and `register`."""
        sources: dict[int, list[int]] = {}
        results: dict[int, list[int]] = {}
        one = values[0].register
        for v in values:
            self.of[v.register].remove(v)
            for k in range(v.first + 1, v.last + 1):
                self._held[k] &= ~(1 << v.register)
            for places, kept in ((v.reads, sources), (v.writes, results)):
                for k in places:
                    kept.setdefault(k, []).append(v.register)
        # All values that an instruction names change their registers at once.
        for k, found in sources.items():
            self._insts[k].src = [_moved(o, found, one, register) for o in self._insts[k].src]
        for k, found in results.items():
            self._insts[k].dst = [_moved(o, found, one, register) for o in self._insts[k].dst]
        for v in values:
            v.register = register if v.register == one else one
            self.of.setdefault(v.register, []).append(v)
            self._occupy(v)


def _mark(masks: list[int], values: list[Value]) -> None:
    """Put the registers of values into masks, of which the first is for the points before the first instruction.

    Values of one register that end before the block does have no point in common.
    """
    n = len(masks)
    begun = [0] * (n + 1)
    ended = [0] * (n + 1)
    lasting = [0] * (n + 1)
    for v in values:
        bit = 1 << v.register
        if v.last >= n - 1:
            lasting[v.first + 1] |= bit
        else:
            begun[v.first + 1] |= bit
            ended[v.last + 1] |= bit
    now = last = 0
    for k in range(n):
        last |= lasting[k]
        now = now & ~ended[k] | begun[k]
        masks[k] = now | last


def _names(dst: list[Opnd], place: int, register: int) -> bool:
    return place < len(dst) and in_file(dst[place], K_R) and reg_id(dst[place]) == register


def _moved(o: Opnd, found: list[int], one: int, register: int) -> Opnd:
    """An operand after `found` registers, each one of two, have changed into the other one."""
    if not in_file(o, K_R) or reg_id(o) not in found:
        return o
    return with_reg(o, register if reg_id(o) == one else one)
