"""Liveness of virtual registers.

A set is a Python int whose bit ``id`` represents the whole virtual register ``id``.  Physical registers are not
tracked: before allocation they are live only between adjacent instructions (arguments and results of calls).

A phi reads its sources at the end of the predecessors and writes its result at the head of its own block, so
a phi's result is live-in of its block only if another use makes it live there.
"""

from typing import Final, final

from orias.analysis.cfg import postorder
from orias.isa.operand import FIRST_VREG, K_B, K_NONE, K_R, KIND_MASK, PAYLOAD_SHIFT, Opnd
from orias.ori.ir import OP_PHI, Block, Func, Inst


def reg_bit(o: Opnd) -> int:
    """The set of only this operand's virtual register; 0 for any other operand."""
    # is_vreg and vreg are inlined in this module: in plain Python the calls would cost more than the rest.
    if o >= FIRST_VREG and o & KIND_MASK <= K_B:
        return 1 << (o >> PAYLOAD_SHIFT)
    return 0


_FEW: Final = 64
"""Below this many members, taking them out of the whole mask one by one is faster than reading it byte by byte (measured, any size)."""
_LONG: Final = 4096
"""Bits from which on the digits of a mask are searched instead; taking members out pays up to a quarter as many then."""


def members(mask: int) -> list[int]:
    """The numbers in a set, ascending, in time linear in the size of the mask."""
    out: list[int] = []
    count = mask.bit_count()
    if count < (_FEW if mask.bit_length() <= _LONG else _FEW >> 2) and count << 4 < mask.bit_length():
        while mask:
            low = mask & -mask
            out.append(low.bit_length() - 1)
            mask ^= low
        return out
    if mask.bit_length() > _LONG:
        digits = bin(mask)
        last = len(digits) - 1
        k = digits.rfind("1")
        while k >= 0:
            out.append(last - k)
            k = digits.rfind("1", 2, k)
        return out
    for k, byte in enumerate(mask.to_bytes((mask.bit_length() + 7) >> 3, "little")):
        while byte:
            low = byte & -byte
            out.append(8 * k + low.bit_length() - 1)
            byte ^= low
    return out


def _set_of(numbers: set[int]) -> int:
    mask = 0
    for ident in numbers:
        mask |= 1 << ident
    return mask


def use_mask(inst: Inst) -> int:
    """The virtual registers an instruction reads (sources, guard, old value)."""
    mask = 0
    for o in inst.src:
        if o >= FIRST_VREG and o & KIND_MASK <= K_B:
            mask |= 1 << (o >> PAYLOAD_SHIFT)
    if inst.guard >= FIRST_VREG:
        mask |= 1 << (inst.guard >> PAYLOAD_SHIFT)
    if inst.old != K_NONE:
        mask |= reg_bit(inst.old)
    return mask


def def_mask(inst: Inst) -> int:
    """The virtual registers an instruction writes."""
    mask = 0
    for o in inst.dst:
        if o >= FIRST_VREG:
            mask |= 1 << (o >> PAYLOAD_SHIFT)
    return mask


@final
class WordCounts:
    """Counts the words of the registers of one file in sets: one population count for each bit of the widths."""

    __slots__ = ("_planes",)

    def __init__(self, fn: Func, file: int) -> None:
        planes: list[bytearray] = []
        size = (len(fn.vkind) + 7) >> 3
        for ident in range(len(fn.vkind)):
            if fn.vkind[ident] == file:
                width = fn.vwidth[ident]
                while width >> len(planes):
                    planes.append(bytearray(size))
                for k in range(width.bit_length()):
                    if width >> k & 1:
                        planes[k][ident >> 3] |= 1 << (ident & 7)
        self._planes: Final[list[int]] = [int.from_bytes(p, "little") for p in planes]
        """Plane k: the registers of the file whose width has bit k."""

    def count(self, mask: int) -> int:
        """The words of the registers of the file in a set."""
        total = 0
        for k, plane in enumerate(self._planes):
            total += (mask & plane).bit_count() << k
        return total


@final
class Liveness:
    """Live-in and live-out sets by block id."""

    __slots__ = ("_words", "live_in", "live_out", "phi_out")

    def __init__(self, size: int) -> None:
        self._words: Final[dict[int, WordCounts]] = {}
        self.live_in: Final[list[int]] = [0] * size
        self.live_out: Final[list[int]] = [0] * size
        """Includes what the successors' phis read along the edges."""
        self.phi_out: Final[list[int]] = [0] * size
        """The part of live_out that successors' phis read."""

    def words(self, fn: Func, file: int) -> WordCounts:
        """What counts the words of a file in these sets; made when it is first asked for."""
        counts = self._words.get(file)
        if counts is None:
            counts = self._words[file] = WordCounts(fn, file)
        return counts

    def before(self, b: Block) -> list[int]:
        """For each instruction of a block, the set live just before it (for a phi: its block's live-in and results)."""
        live = self.live_out[b.id]
        out = [0] * len(b.insts)
        for i in range(len(b.insts) - 1, -1, -1):
            inst = b.insts[i]
            if inst.op is not OP_PHI:
                live = (live & ~def_mask(inst)) | use_mask(inst)
            out[i] = live
        return out


def liveness(fn: Func) -> Liveness:
    """Solve liveness for the blocks reachable from the entry (backwards, to the least fixed point)."""
    size = fn.next_block
    lv = Liveness(size)
    order = postorder(fn)
    gen = [0] * size
    kill = [0] * size
    for b in order:
        read: set[int] = set()
        written: set[int] = set()
        phi_defs = 0
        for inst in reversed(b.insts):
            if inst.op is OP_PHI:
                phi_defs |= def_mask(inst)
                for i, o in enumerate(inst.src):
                    lv.phi_out[b.preds[i].id] |= reg_bit(o)
                continue
            for o in inst.dst:
                if o >= FIRST_VREG:
                    written.add(o >> PAYLOAD_SHIFT)
                    read.discard(o >> PAYLOAD_SHIFT)
            for o in inst.src:
                if o >= FIRST_VREG and o & KIND_MASK <= K_B:
                    read.add(o >> PAYLOAD_SHIFT)
            if inst.guard >= FIRST_VREG:
                read.add(inst.guard >> PAYLOAD_SHIFT)
            if inst.old >= FIRST_VREG and inst.old & KIND_MASK <= K_B:
                read.add(inst.old >> PAYLOAD_SHIFT)
        gen[b.id] = _set_of(read) & ~phi_defs
        kill[b.id] = _set_of(written) | phi_defs
    live_in = lv.live_in
    live_out = lv.live_out
    queued = bytearray(b"\1" * size)
    work = order
    while work:
        again: list[Block] = []
        for b in work:
            queued[b.id] = 0
            out = lv.phi_out[b.id]
            for s in b.succs:
                out |= live_in[s.id]
            live_out[b.id] = out
            new = gen[b.id] | (out & ~kill[b.id])
            if new != live_in[b.id]:
                live_in[b.id] = new
                for p in b.preds:
                    if not queued[p.id]:
                        queued[p.id] = 1
                        again.append(p)
        work = again
    return lv


def live_across(fn: Func, callee: str) -> int:
    """Largest number of words of R registers live across a call of `callee`; 0 if there is no such call."""
    calls = {uid for uid, info in fn.calls.items() if info.target == callee}
    if not calls:
        return 0
    lv = liveness(fn)
    most = 0
    for b in fn.blocks:
        if not any(i.uid in calls for i in b.insts):
            continue
        before = [*lv.before(b), lv.live_out[b.id]]
        for k, inst in enumerate(b.insts):
            if inst.uid in calls:
                live = members(before[k] & before[k + 1])
                most = max(most, sum(fn.vwidth[v] for v in live if fn.vkind[v] == K_R))
    return most
