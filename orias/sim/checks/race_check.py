"""Races in shared memory by happens-before (the clocks are those of :mod:`orias.sim.checks.vector_clocks`).

Each byte remembers its last write and two last reads that nothing orders.  A copy accesses memory from its issue until a
wait for it: the bytes of ``cp.async`` belong to the copying thread once its warp has waited for them, those of bulk and tensor
copies to a column of their own, which waits pass on.  Bulk and tensor copies use another proxy: what they read or overwrite
needs a proxy fence after an ordinary store.  A store of the value that is there already is no race.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.checks.accesses import Access, Touched
from orias.sim.checks.vector_clocks import Clocks
from orias.sim.core.state import Machine

Arr = npt.NDArray[Any]
Report = Callable[[str, int, int, int, int, int], None]
"""Kind, byte in shared memory, instruction (number) and thread of the earlier access, of the later access."""
_MOST_OPEN: Final = 256
"""Copies without a group that are remembered where barrier objects wait for them."""
MISSING_FENCE: Final = "no proxy fence between store and copy"


class _Trace:
    """For each byte of shared memory: column (-1 for none), clock, thread, its own clock, and instruction of an access."""

    def __init__(self, size: int) -> None:
        self.column = np.full(size, -1, np.int16)
        self.clock = np.zeros(size, np.int32)
        self.pc = np.zeros(size, np.int32)
        self.thread = np.zeros(size, np.int32)
        self.lane_clock = np.zeros(size, np.int32)

    def put(self, at: Arr, who: "_Who", keep: Arr | None = None) -> None:
        column, clock, thread, lane_clock = who.column, who.clock, who.thread, who.lane_clock
        if keep is not None:
            at, column, clock, thread, lane_clock = at[keep], column[keep], clock[keep], thread[keep], lane_clock[keep]
        self.column[at] = column
        self.clock[at] = clock
        self.pc[at] = who.pc
        self.thread[at] = thread
        self.lane_clock[at] = lane_clock


class _Who:
    """Who accesses bytes: threads (one for each byte), column and clock in it, the threads' own clocks, the instruction."""

    def __init__(self, clocks: Clocks, thread: Arr, pc: int, column: int = -1, number: int = 0) -> None:
        self.thread = thread
        self.warp = thread >> 5
        self.pc = pc
        self.mine = clocks.own[self.warp]
        if column < 0:
            self.column: Arr = self.mine
            self.clock: Arr = clocks.row[self.warp, self.mine]
        else:
            self.column = np.full(len(thread), column)
            self.clock = np.full(len(thread), number)
        self.lane_clock: Arr = clocks.lane[self.warp, thread & 31, thread & 31]


class RaceCheck:
    """The traces of a batch of blocks.  `lanes`: threads of a warp are ordered by barriers only, as PTX has it."""

    def __init__(self, clocks: Clocks, lanes: bool, report: Report) -> None:
        self.clocks: Final = clocks
        self.lanes: Final = lanes
        self.report: Final = report
        m: Machine = clocks.m
        self.m: Final = m
        size = clocks.blocks * m.shared.stride
        self.written = _Trace(size)
        self.made = _Trace(size)
        """Where barrier objects are made: what others do with them is ordered by something else than the object."""
        self.write_atomic = np.zeros(size, np.bool_)
        self.read = (_Trace(size), _Trace(size))
        self._open: dict[int, list[tuple[int, Arr]]] = {}
        """Warp -> its copies (number, bytes; none for bulk copies) that are in no group."""
        self._groups: dict[tuple[int, bool], list[list[tuple[int, Arr]]]] = {}
        """Warp and kind (bulk or not) -> groups of copies that nobody waited for."""
        self._products: dict[int, tuple[int, int]] = {}
        """Warp -> column and number of its last matrix operation."""
        self._product_groups: dict[int, list[tuple[int, int]]] = {}
        """Warp -> the same of the last operation of each group that nobody waited for."""
        self._small: list[int] = []
        """Instructions that start copies by ``cp.async``: compilers leave proxy fences after them out before products."""

    def forget(self) -> None:
        """All that was done is ordered before what comes."""
        for trace in (self.written, self.made, *self.read):
            trace.column[:] = -1

    # -- accesses

    def access(self, access: Access, part: Touched, pc: int, data: Arr | None) -> None:
        """Checks accesses of shared memory by threads, and remembers them."""
        size = access.size
        at = (part.offset[:, None] + np.arange(size)).reshape(-1)
        who = _Who(self.clocks, np.repeat(part.threads, size), pc)
        self.clocks.dirty[who.warp] = True
        new = None if data is None else data.reshape(-1)
        silent = np.zeros(len(at), np.bool_) if new is None else self.m.shared.data[at] == new
        self._against(self.written, "write", access.writes, access.atomic, at, who, silent)
        if access.one:
            self.made.put(at, who)
        elif access.atomic or access.polls:
            self._against(self.made, "write", True, False, at, who, None)
        if access.writes:
            for trace in self.read:
                self._against(trace, "read", True, access.atomic, at, who, silent)
            if not access.atomic:
                self._together(at, who, new)
            self._write(at, who, access.atomic)
        elif not access.polls:
            self._remember_read(at, who)

    def store(self, thread: int, pc: int, at: Arr) -> None:
        """A thread stores bytes."""
        who = _Who(self.clocks, np.full(len(at), thread), pc)
        self.clocks.dirty[who.warp] = True
        for trace, what in ((self.written, "write"), (self.read[0], "read"), (self.read[1], "read")):
            self._against(trace, what, True, False, at, who, None)
        self._write(at, who, False)

    def _write(self, at: Arr, who: _Who, atomic: bool) -> None:
        self.written.put(at, who)
        self.write_atomic[at] = atomic
        for trace in self.read:
            trace.column[at] = -1

    def _remember_read(self, at: Arr, who: _Who) -> None:
        first, second = self.read
        old = first.column[at]
        ordered = (old < 0) | (old == who.column) | (self.clocks.row[who.warp, old] >= first.clock[at])
        first.put(at, who, ordered)
        second.put(at, who, ~ordered)
        # Of several warps that read a byte at once, one is in the first trace: another goes to the second.
        second.put(at, who, first.column[at] != who.column)

    def _unordered(self, trace: _Trace, at: Arr, who: _Who) -> Arr:
        """Which bytes have an access that nothing orders before one by the threads of `who`."""
        old = trace.column[at]
        mine = old == who.mine
        bad: Arr = (old >= 0) & ~mine & (self.clocks.row[who.warp, old] < trace.clock[at])
        if self.lanes and mine.any():
            before = trace.thread[at]
            known = self.clocks.lane[who.warp, who.thread & 31, before & 31]
            bad |= mine & (before != who.thread) & (known < trace.lane_clock[at])
        return bad

    def _against(
        self, trace: _Trace, what: str, writes: bool, atomic: bool, at: Arr, who: _Who, silent: Arr | None
    ) -> None:
        bad = self._unordered(trace, at, who)
        if what == "write" and (atomic or not writes):
            # A plain read of what an atomic wrote is how programs wait (a flag, a barrier object before sm_90).
            bad &= ~self.write_atomic[at]
        if writes and silent is not None:
            bad &= ~silent
        if bad.any():
            self._tell(f"{'write' if writes else 'read'} after {what}", trace, at, who, int(np.argmax(bad)))

    def _tell(self, kind: str, trace: _Trace, at: Arr, who: _Who, i: int) -> None:
        place = int(at[i])
        self.report(kind, place, int(trace.pc[place]), int(trace.thread[place]), who.pc, int(who.thread[i]))

    def _together(self, at: Arr, who: _Who, new: Arr | None) -> None:
        """Different values that several threads store to a byte by one instruction."""
        order = np.argsort(at, kind="stable")
        a, t = at[order], (who.thread if self.lanes else who.warp)[order]
        clash = (a[1:] == a[:-1]) & (t[1:] != t[:-1])
        if new is not None:
            v = new[order]
            clash &= v[1:] != v[:-1]
        if clash.any():
            i = int(np.argmax(clash))
            first, second = order[i], order[i + 1]
            self.report(
                "write after write", int(at[first]), who.pc, int(who.thread[first]), who.pc, int(who.thread[second])
            )

    # -- copies

    def small_copy(self, part: Touched, size: int, pc: int) -> None:
        """Threads start copies to shared memory (``cp.async``)."""
        if pc not in self._small:
            self._small.append(pc)
        for warp in np.unique(part.threads >> 5).tolist():
            which = part.threads >> 5 == warp
            column, number = self.clocks.issue(warp, -1)
            at = (part.offset[which][:, None] + np.arange(size)).reshape(-1)
            who = _Who(self.clocks, np.repeat(part.threads[which], size), pc, column, number)
            self.clocks.dirty[warp] = True
            for trace, what in ((self.written, "write"), (self.read[0], "read"), (self.read[1], "read")):
                self._against(trace, what, True, False, at, who, None)
            self._write(at, who, False)
            self._open.setdefault(warp, []).append((number, at))

    def bulk_copy(
        self,
        thread: int,
        pc: int,
        reads: Arr | None,
        writes: Arr | None,
        name: tuple[int, int],
        adds: bool,
        proxy: bool,
    ) -> None:
        """A thread starts a copy (column and number: `name`) that reads or writes bytes of shared memory.

        `adds`: a reduction; `proxy`: it uses the proxy of asynchronous copies.
        """
        column, number = name
        for at, is_write in ((reads, False), (writes, True)):
            if at is None or not len(at):
                continue
            who = _Who(self.clocks, np.full(len(at), thread), pc, column, number)
            self._against(self.written, "write", is_write, adds, at, who, None)
            if is_write:
                for trace in self.read:
                    self._against(trace, "read", True, adds, at, who, None)
            if proxy:
                self._fenced(at, who)
            if is_write:
                self._write(at, who, adds)
            else:
                self._remember_read(at, who)
        if column < 2 * self.clocks.group:
            self._open.setdefault(thread >> 5, []).append((number, np.zeros(0, np.int64)))

    # -- matrix operations

    def product(self, thread: int, first: int, pc: int, at: Arr) -> None:
        """A matrix operation of a thread's warp begins to read bytes of shared memory, by the proxy of asynchronous copies.

        `first`: the warp whose column it has.  The warps of a warpgroup run the same operations: one waits for all.
        """
        warp = thread >> 5
        _, number = self._products.get(warp, (0, 0))
        column, number = self.clocks.products + int(self.clocks.own[first]), number + 1
        self._products[warp] = column, number
        who = _Who(self.clocks, np.full(len(at), thread), pc, column, number)
        self._against(self.written, "write", False, False, at, who, None)
        self._fenced(at, who, np.isin(self.written.pc[at], self._small))
        self._remember_read(at, who)

    def products_grouped(self, warp: int) -> None:
        """The matrix operations of a warp so far become a group."""
        none = self.clocks.products + int(self.clocks.own[warp]), 0
        self._product_groups.setdefault(warp, []).append(self._products.get(warp, none))

    def products_done(self, warp: int, pending: int) -> None:
        """A warp waits until at most `pending` groups of its matrix operations are not done."""
        groups = self._product_groups.get(warp, [])
        while len(groups) > pending:
            self.clocks.reached(warp, *groups.pop(0))

    def products_signal(self, warp: int, objects: list[int]) -> None:
        """The matrix operations of a warp so far report to barrier objects when they are done."""
        known = self._products.get(warp)
        if known is not None:
            for at in objects:
                self.clocks.complete(at, *known)

    def _fenced(self, at: Arr, who: _Who, excused: Arr | None = None) -> None:
        """Ordinary stores before a copy or matrix operation need a proxy fence."""
        old, clock = self.written.column[at], self.written.clock[at]
        c = self.clocks
        bad = (old >= 0) & (old < c.group) & (c.row[who.warp, old] >= clock)
        bad &= c.row[who.warp, c.width + old] < clock
        if excused is not None:
            bad &= ~excused
        if bad.any():
            self._tell(MISSING_FENCE, self.written, at, who, int(np.argmax(bad)))

    def commit(self, warps: Arr, bulk: bool) -> None:
        """The copies of some warps that are in no group become one."""
        for warp in warps.tolist():
            mine = [x for x in self._open.get(warp, []) if bool(len(x[1])) != bulk]
            self._open[warp] = [x for x in self._open.get(warp, []) if bool(len(x[1])) == bulk]
            self._groups.setdefault((warp, bulk), []).append(mine)

    def wait(self, warps: Arr, pending: int) -> None:
        """Warps wait until at most `pending` groups of each kind are not done."""
        for warp in warps.tolist():
            for bulk in (False, True):
                groups = self._groups.get((warp, bulk), [])
                done, self._groups[warp, bulk] = (
                    groups[: len(groups) - pending],
                    groups[max(len(groups) - pending, 0) :],
                )
                for number, at in (copy for g in done for copy in g):
                    self._own(warp, number, at)

    def _own(self, warp: int, number: int, at: Arr) -> None:
        """A warp has waited for a copy: the bytes are as if its threads had stored them now."""
        c, w = self.clocks, self.written
        if not len(at):
            c.waited(warp, number)
            return
        at = at[(w.column[at] == c.group + c.own[warp]) & (w.clock[at] == number)]
        w.column[at] = c.own[warp]
        w.clock[at] = c.row[warp, c.own[warp]]
        lanes = w.thread[at] & 31
        w.lane_clock[at] = c.lane[warp, lanes, lanes]
        c.dirty[warp] = True

    def arrive_after_copies(self, offset: Arr, threads: Arr) -> None:
        """Threads arrive at barrier objects once their copies are done."""
        for warp in np.unique(threads >> 5).tolist():
            self._open[warp] = self._open.get(warp, [])[-_MOST_OPEN:]
            numbers = [n for n, at in self._open[warp] if len(at)]
            numbers += [n for g in self._groups.get((warp, False), []) for n, _ in g]
            if numbers:
                for at in np.unique(offset[threads >> 5 == warp]).tolist():
                    self.clocks.complete(at, self.clocks.group + int(self.clocks.own[warp]), max(numbers))
