"""Races in global memory by happens-before, within and between the blocks of a launch.

Each byte remembers its last write and two last reads, as in shared memory (``race_check.py``).  Within a cluster the vector
clocks of its warps order accesses (:mod:`orias.sim.checks.vector_clocks`); those of bulk and tensor copies have columns there.
Between clusters, time is counted in epochs: a block begins one whenever it accesses an address by an atomic or a strong access
(volatile, relaxed, release) or has a fence (``membar``) for the device.  Who accesses that address later so is ordered after
all that the block did before its last fence, whichever of its threads had it; a fence of the reader is not asked for.  Blocks
that never meet like this are never ordered.  A plain read of what atomics and strong stores write is no race.  Threads of a
warp are ordered once any of its threads have met.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.checks.accesses import Access, Touched
from orias.sim.checks.vector_clocks import Clocks
from orias.sim.core.state import Machine

Arr = npt.NDArray[Any]
Spot = tuple[int, tuple[int, int, int], tuple[int, int, int]]
"""Instruction (number), block and thread."""
Report = Callable[[str, int, Spot, Spot], None]
"""Kind, offset in device memory, the earlier access and the later one."""
_PAGE_BITS: Final = 12
_PAGE: Final = 1 << _PAGE_BITS
_MOST_PAGES: Final = 4096
"""Pages that are followed: accesses of others are not checked."""
_MOST_EVENTS: Final = 4_000_000
"""Instructions of warps that are remembered; those after them are not checked."""
_MOST_MEETINGS: Final = 5_000_000
"""Pairs of blocks that are looked at where blocks meet; nothing is checked after them."""
_FIRST_EVENTS: Final = 1024
_FIELDS: Final = 7
_WRITE, _READ, _SECOND_READ = range(3)
NO_FENCE: Final = "no fence between an access and what tells another block"


class _Order:
    """What the blocks of a launch know of each other."""

    def __init__(self) -> None:
        self.after: Final[dict[int, dict[int, int]]] = {}
        """Block -> other blocks, with the first epoch of theirs that is not before what the block does now."""
        self._met: Final[dict[int, dict[int, int]]] = {}
        """Address of atomics -> what is before an access there, likewise."""
        self.pairs = 0
        """Pairs of blocks that were looked at."""

    def known(self, address: int) -> bool:
        """Whether a block has released anything at an address."""
        return address in self._met

    def meet(self, address: int, block: int, acquires: bool, epoch: int) -> None:
        """A block synchronises at an address; what it did before `epoch` (0: nothing) is before who comes later."""
        met = self._met.get(address)
        after = self.after.setdefault(block, {})
        self.pairs += 1 + len(after) + (0 if met is None else len(met))
        if acquires and met is not None:
            _raise_to(after, met)
        if epoch:
            met = self._met.setdefault(address, {})
            _raise_to(met, after)
            met[block] = max(epoch, met.get(block, 0))

    def reached(self, block: int, other: int) -> int:
        """The first epoch of another block that is not before what a block does now."""
        return self.after.get(block, {}).get(other, 0)


def _raise_to(to: dict[int, int], source: dict[int, int]) -> None:
    for b, epoch in source.items():
        if epoch > to.get(b, 0):
            to[b] = epoch


class GlobalRaces:
    """The accesses of a launch to global memory."""

    def __init__(self, report: Report, lanes: bool) -> None:
        self.report: Final = report
        self.lanes: Final = lanes
        self._slots: Final[dict[int, int]] = {}
        """Page -> its place in the arrays over bytes."""
        self._event = np.full((3, 0), -1, np.int32)
        """The event of the last write and of two reads of each byte, -1 for none."""
        self._lane = np.zeros((3, 0), np.uint8)
        self._strong = np.zeros(0, np.bool_)
        """Whether the last write of each byte was an atomic or strong one."""
        self._events: Arr = np.zeros((_FIELDS, _FIRST_EVENTS), np.int32)
        """Of each event: block (number in the launch), column in its cluster, clock there, epoch of the block, instruction, warp of
        the block, how often threads of the warp had met."""
        self._count = 0
        self._epoch: Final[dict[int, int]] = {}
        self._fenced: Final[dict[int, int]] = {}
        """Block -> the epoch that began with its last fence."""
        self._order: Final = _Order()
        self._loose: Final = _Order()
        """The order as it would be if each meeting had a fence before it."""
        self._blocks: Final[list[tuple[int, int, int]]] = []
        """Coordinates of all blocks so far."""
        self._size: tuple[int, int] = (1, 1)
        self._first = 0
        """Number of the first block of the batch that runs."""

    def start(self, m: Machine, clocks: Clocks) -> None:
        """Enters the blocks of a batch."""
        self._first = len(self._blocks)
        threads = clocks.per_block * 32
        for b in range(clocks.blocks):
            x, y, z = (int(m.special[f"SR_CTAID.{axis}"][b * threads]) for axis in "XYZ")
            self._blocks.append((x, y, z))
        tid = [m.special[f"SR_TID.{axis}"][:threads] for axis in "XY"]
        self._size = int(tid[0].max()) + 1, int(tid[1].max()) + 1

    def _place(self, at: Arr) -> Arr:
        """Indices of bytes in the arrays; -1 for those that are not followed."""
        pages = at >> _PAGE_BITS
        unique, inverse = np.unique(pages, return_inverse=True)
        slots = np.empty(len(unique), np.int64)
        for k, page in enumerate(unique.tolist()):
            slot = self._slots.get(page, -1)
            if slot < 0 and len(self._slots) < _MOST_PAGES:
                slot = self._slots[page] = len(self._slots)
            slots[k] = slot
        self._grow(len(self._slots) << _PAGE_BITS)
        found = slots[inverse]
        out: Arr = np.where(found < 0, -1, (found << _PAGE_BITS) + (at & _PAGE - 1))
        return out

    def _grow(self, size: int) -> None:
        have = len(self._strong)
        if size > have:
            more = max(size, 2 * have) - have
            self._event = np.concatenate((self._event, np.full((3, more), -1, np.int32)), axis=1)
            self._lane = np.concatenate((self._lane, np.zeros((3, more), np.uint8)), axis=1)
            self._strong = np.concatenate((self._strong, np.zeros(more, np.bool_)))

    def _enter(self, clocks: Clocks, warps: Arr, pc: int, column: int = -1, number: int = 0) -> int:
        """Remembers an instruction of some warps, or a copy of one; returns the number of the first event."""
        first, n = self._count, len(warps)
        if first + n > self._events.shape[1]:
            more = max(n, self._events.shape[1])
            self._events = np.concatenate((self._events, np.zeros((_FIELDS, more), np.int32)), axis=1)
        block = self._first + warps // clocks.per_block
        epoch = [self._epoch.get(b, 0) for b in block.tolist()]
        own = clocks.own[warps]
        columns, clock = (own, clocks.row[warps, own]) if column < 0 else (np.full(n, column), np.full(n, number))
        fields = block, columns, clock, epoch, np.full(n, pc), warps % clocks.per_block, clocks.joined[warps]
        self._events[:, first : first + n] = fields
        self._count += n
        return first

    # -- synchronisation

    def forget(self) -> None:
        """All that was done is ordered before what comes."""
        self._event[:] = -1

    def _meet(self, addresses: Arr, blocks: Arr, acquires: bool, releases: bool) -> None:
        """Blocks synchronise at addresses, in the order of their threads."""
        for address, block in dict.fromkeys(zip(addresses.tolist(), blocks.tolist(), strict=True)):
            epoch = 0
            if releases:
                epoch = self._epoch[block] = self._epoch.get(block, 0) + 1
            self._loose.meet(address, block, acquires, epoch)
            self._order.meet(address, block, acquires, self._fenced.get(block, 0) if releases else 0)

    def fence(self, clocks: Clocks, warps: Arr) -> None:
        """Threads of some warps have a fence for the whole device."""
        for block in np.unique(self._first + warps // clocks.per_block).tolist():
            self._epoch[block] = self._fenced[block] = self._epoch.get(block, 0) + 1

    # -- accesses

    @property
    def _full(self) -> bool:
        return self._count > _MOST_EVENTS or self._loose.pairs > _MOST_MEETINGS

    def access(
        self, m: Machine, clocks: Clocks, access: Access, part: Touched, pc: int, data: Arr | None, strong: bool
    ) -> None:
        """Checks accesses, and remembers them; `strong`: or an atomic."""
        if self._full:
            return
        threads = part.threads
        block = self._first + threads // (clocks.per_block * 32)
        synchronises = strong or access.atomic
        warps, of = np.unique(threads >> 5, return_inverse=True)
        events = self._enter(clocks, warps, pc) + of
        clocks.dirty[warps] = True
        if synchronises:
            self._meet(part.offset, block, access.reads, access.writes)
        elif access.reads:
            part_of_wait = self._wait(part, block)
            if part_of_wait is not None:
                clocks.atomic(part_of_wait, access.size, False)
        size = access.size
        offset = (part.offset[:, None] + np.arange(size)).reshape(-1)
        at = self._place(offset)
        thread, event = np.repeat(threads, size), np.repeat(events, size)
        new = None if data is None else data.reshape(-1)
        quiet = np.zeros(len(at), np.bool_) if new is None else m.arena.data[offset] == new
        keep = at >= 0
        if not keep.all():
            at, thread, event, offset, quiet = at[keep], thread[keep], event[keep], offset[keep], quiet[keep]
            new = None if new is None else new[keep]
        check = _Check(self, clocks, at, offset, thread, event)
        writes = access.writes
        bad = check.unordered(_WRITE)
        bad &= ~(self._strong[at] & (synchronises or not writes))
        check.report("write after write" if writes else "read after write", _WRITE, bad & ~quiet)
        if synchronises:
            clocks.atomic(part, size, False)
        if not writes:
            if not synchronises:
                self._remember_reads(check)
            return
        if not synchronises:
            self._against_reads(check, quiet)
            check.together(new)
            self._event[_READ, at] = self._event[_SECOND_READ, at] = -1
        check.put(_WRITE, np.ones(len(at), np.bool_))
        self._strong[at] = synchronises

    def _against_reads(self, check: "_Check", quiet: Arr) -> None:
        for which in (_READ, _SECOND_READ):
            check.report("write after read", which, check.unordered(which) & ~quiet)

    def bulk_copy(
        self, clocks: Clocks, thread: int, pc: int, offset: Arr, writes: bool, column: int, number: int, adds: bool
    ) -> None:
        """A thread starts a copy that reads or writes bytes; `adds`: a reduction."""
        if self._full or not len(offset):
            return
        event = self._enter(clocks, np.array([thread >> 5]), pc, column, number)
        at = self._place(offset)
        at, offset = at[at >= 0], offset[at >= 0]
        check = _Check(self, clocks, at, offset, np.full(len(at), thread), np.full(len(at), event))
        bad = check.unordered(_WRITE) & ~(self._strong[at] & (adds or not writes))
        check.report("write after write" if writes else "read after write", _WRITE, bad)
        if not writes:
            self._remember_reads(check)
            return
        self._against_reads(check, np.zeros(len(at), np.bool_))
        self._event[_READ, at] = self._event[_SECOND_READ, at] = -1
        check.put(_WRITE, np.ones(len(at), np.bool_))
        self._strong[at] = adds

    def _wait(self, part: Touched, block: Arr) -> Touched | None:
        """A plain read of what an atomic or a strong store wrote counts as a wait for it: returns the part that is one."""
        known = [i for i, a in enumerate(part.offset.tolist()) if self._loose.known(a)]
        if not known:
            return None
        self._meet(part.offset[known], block[known], True, False)
        return Touched(part.space, part.offset[known], part.threads[known], None)

    def _remember_reads(self, check: "_Check") -> None:
        old = self._event[_READ, check.at]
        free = (old < 0) | ~check.unordered(_READ) | check.same(old)
        check.put(_READ, free)
        check.put(_SECOND_READ, ~free)
        # Of several warps that read a byte at once, one is in the first trace: another goes to the second.
        check.put(_SECOND_READ, ~check.same(self._event[_READ, check.at]))


class _Check:
    """The bytes that threads access by one instruction: places in the arrays, offsets in memory, threads, events."""

    def __init__(self, all_: GlobalRaces, clocks: Clocks, at: Arr, offset: Arr, thread: Arr, event: Arr) -> None:
        self.all = all_
        self.clocks = clocks
        self.at = at
        self.offset = offset
        self.thread = thread
        self.event = event

    def same(self, old: Arr) -> Arr:
        """Where an event is one of the same warp."""
        mine, theirs = self.all._events[:2, self.event], self.all._events[:2, old]
        out: Arr = (mine == theirs).all(axis=0) & (old >= 0)
        return out

    def unordered(self, which: int) -> Arr:
        """Which bytes have an earlier access of this kind that nothing orders before this one."""
        old = self.all._event[which, self.at]
        bad: Arr = old >= 0
        i = np.flatnonzero(bad)
        if not len(i):
            return bad
        c, events, warp = self.clocks, self.all._events, self.thread[i] >> 5
        then = events[:, old[i]]
        cluster = c.group // c.per_block
        now = self.all._first + warp // c.per_block
        mine = (now == then[0]) & (c.own[warp] == then[1])
        before = self.all._lane[which, self.at[i]] != self.thread[i] & 31
        bad[i[mine]] = (self.all.lanes & before & (then[6] >= c.joined[warp]))[mine]
        near = ~mine & (now // cluster == then[0] // cluster)
        bad[i[near]] = c.row[warp[near], then[1, near]] < then[2, near]
        far = ~mine & ~near
        pairs, of = np.unique(np.stack((now[far], then[0, far]), axis=1), axis=0, return_inverse=True)
        reached = [self.all._order.reached(b, other) for b, other in pairs.tolist()]
        if reached:
            bad[i[far]] = np.array(reached)[of.reshape(-1)] <= then[3, far]
        return bad

    def _lacks_fence(self, i: int, event: int) -> bool:
        """Whether a fence is all that is missing between an earlier event of another block and an access."""
        block, epoch = int(self.all._events[0, event]), int(self.all._events[3, event])
        c = self.clocks
        now, cluster = self.all._first + int(self.thread[i] >> 5) // c.per_block, c.group // c.per_block
        return now // cluster != block // cluster and self.all._loose.reached(now, block) > epoch

    def report(self, kind: str, which: int, bad: Arr) -> None:
        """Reports the first of some bytes with the earlier access."""
        if bad.any():
            i = int(np.argmax(bad))
            event, lane = int(self.all._event[which, self.at[i]]), int(self.all._lane[which, self.at[i]])
            self.all.report(
                NO_FENCE if self._lacks_fence(i, event) else kind,
                int(self.offset[i]),
                self._spot(event, lane),
                self._spot(int(self.event[i]), int(self.thread[i]) & 31),
            )

    def _spot(self, event: int, lane: int) -> Spot:
        block, _, _, _, pc, warp, _ = (int(v) for v in self.all._events[:, event])
        (x, y), i = self.all._size, 32 * warp + lane
        return pc, self.all._blocks[block], (i % x, i // x % y, i // (x * y))

    def together(self, new: Arr | None) -> None:
        """Different values that several threads store to a byte by one instruction."""
        order = np.argsort(self.at, kind="stable")
        a, e = self.at[order], (self.thread if self.all.lanes else self.event)[order]
        clash = (a[1:] == a[:-1]) & (e[1:] != e[:-1])
        if new is not None:
            v = new[order]
            clash &= v[1:] != v[:-1]
        if clash.any():
            k = int(np.argmax(clash))
            spots = [self._spot(int(self.event[i]), int(self.thread[i]) & 31) for i in order[k : k + 2]]
            self.all.report("write after write", int(self.offset[order[k]]), spots[0], spots[1])

    def put(self, which: int, where: Arr) -> None:
        """Makes these accesses the last ones of a kind."""
        at = self.at[where]
        self.all._event[which, at] = self.event[where]
        self.all._lane[which, at] = self.thread[where] & 31
