"""Registers that pending warpgroup operations hold although no later instruction reads them.

A copy of a pending value is (or should become) the same register under another name.  Of several names for a value only
the live one counts: a name that is kept only for the pending operation must not prevent coalescing.
"""

from typing import Final, final

from orias.analysis.inflight import Groups, InFlight, has_warpgroups, union
from orias.analysis.liveness import members
from orias.isa.op import F_WGMMA_SYNC
from orias.isa.operand import (
    FIRST_VREG,
    K_R,
    KIND_MASK,
    LANE_MASK,
    PAYLOAD_SHIFT,
    Opnd,
    in_file,
    is_vreg,
    kind_of,
    lane_words,
    vreg,
)
from orias.ori.ir import OP_COPY, Block, Func, Inst
from orias.regalloc.ssa_out import OP_PCOPY

Pairs = list[tuple[int, int]]


@final
class Reserved:
    """Words that pending operations hold: at the end of each block, and those that each wait releases."""

    __slots__ = ("_copies", "_family", "_fn", "_head", "_wbase", "freed", "out")

    def __init__(self, fn: Func, wbase: list[int], order: list[Block], live_out: list[list[int]]) -> None:
        self.out: Final[dict[int, list[int]]] = {}
        """Words by block id."""
        self.freed: Final[dict[int, list[int]]] = {}
        """Words by uid of the instruction that releases them."""
        self._fn: Final[Func] = fn
        self._wbase: Final[list[int]] = wbase
        self._copies: Final[dict[int, tuple[Pairs, int]]] = {}
        """For each copy: its words (from, to), and the mask of the sources that die there."""
        self._head: Final[dict[int, int]] = {}
        """Mask of the words live at the head of each block."""
        self._family: Final[dict[int, int]] = {}
        """Union-find parent of each word: words that copies connect have one representative."""
        if not has_warpgroups(fn) or fn.wgmma_serial:
            return
        for b in order:
            self._liveness(b, live_out[b.id])
        flight = InFlight(fn, self._held, self._moved, self._enter)
        for b in order:
            state = flight.before.get(b.id, (0,))
            for inst in b.insts:
                behind = flight.step(inst, state)
                if behind != state and inst.op.flags & F_WGMMA_SYNC:
                    self.freed[inst.uid] = members(union(state) & ~union(behind))
                state = behind
            # Live words need no reservation; of several names of a value, one that nothing else keeps is reserved.
            mask = union(state)
            if mask:
                self.out[b.id] = members(self._out(b, mask))

    def _words(self, o: Opnd) -> range:
        v = vreg(o)
        first, count = lane_words(o, self._fn.vwidth[v])
        return range(self._wbase[v] + first, self._wbase[v] + first + count)

    def _mask(self, o: Opnd) -> int:
        """The words of a virtual register operand, as a mask."""
        v = o >> PAYLOAD_SHIFT
        if not o & LANE_MASK:
            return (1 << self._fn.vwidth[v]) - 1 << self._wbase[v]
        first, count = lane_words(o, self._fn.vwidth[v])
        return (1 << count) - 1 << self._wbase[v] + first

    def _held(self, inst: Inst) -> int:
        """Mask over word numbers of D, of A in registers, and of its metadata."""
        mask = 0
        for o in [*inst.dst, *inst.src]:
            if is_vreg(o) and in_file(o, K_R):
                mask |= self._mask(o)
        return mask

    def _root(self, w: int) -> int:
        while True:
            up = self._family.get(w, w)
            if up == w:
                return w
            w = up

    def _liveness(self, b: Block, out: list[int]) -> None:
        live = 0
        for w in out:
            live |= 1 << w
        for inst in reversed(b.insts):
            pairs: Pairs = []
            if inst.op is OP_PCOPY or inst.op is OP_COPY:
                for d, s in zip(inst.dst, inst.src, strict=True):
                    if is_vreg(s) and is_vreg(d) and kind_of(s) == kind_of(d) == K_R:
                        pairs.extend(zip(self._words(s), self._words(d), strict=False))
            for d in inst.dst:
                if d >= FIRST_VREG:
                    live &= ~self._mask(d)
            if pairs:
                dying = 0
                for w, v in pairs:
                    dying |= ~live & 1 << w
                    a, c = self._root(w), self._root(v)
                    self._family[max(a, c)] = min(a, c)
                self._copies[inst.uid] = (pairs, dying)
            for o in inst.uses():
                if o >= FIRST_VREG and o & KIND_MASK == K_R:
                    live |= self._mask(o)
        self._head[b.id] = live

    def _moved(self, inst: Inst, state: Groups) -> Groups:
        pairs, dying = self._copies.get(inst.uid, ((), 0))
        now = union(state)
        for w, v in pairs:
            if now >> w & 1:
                state = tuple([g | 1 << v if g >> w & 1 else g for g in state])
        dying &= now
        return tuple([g & ~dying for g in state]) if dying else state

    def _enter(self, b: Block, state: Groups) -> Groups:
        """Drop names that are not live in the block if another name of the value is."""
        now = union(state)
        if not now:
            return state
        live = self._head[b.id]
        kept = {self._root(w) for w in members(now & live)}
        drop = 0
        for w in members(now & ~live):
            if self._root(w) in kept:
                drop |= 1 << w
        return tuple([g & ~drop for g in state]) if drop else state

    def _out(self, b: Block, mask: int) -> int:
        """The words held at the end of a block that count in some successor."""
        out = 0
        for s in b.succs:
            out |= union(self._enter(s, (mask,)))
        return out
