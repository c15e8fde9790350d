"""Races in shared memory by happens-before, with vector clocks of warps (Flanagan and Freund, FastTrack, PLDI 2009).

Each byte remembers its last write and two last reads that nothing orders.  Clocks pass from warp to warp through block
barriers, barrier objects in shared memory, atomics, and plain reads of what an atomic wrote.  Threads of one warp are
taken as ordered; a store of the value that is there already is no race; bulk copies and shared memory of other blocks are
not followed.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.checks.accesses import Access, Touched
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64

Arr = npt.NDArray[Any]
Report = Callable[[str, int, int, int, int, int], None]
"""Kind, byte in shared memory, instruction (number) and thread of the earlier access, of the later access."""
_BARRIERS: Final = 16
_OBJECTS: Final = _BARRIERS
"""Number of the clock of all barrier objects of a block, after those of its barriers."""


class _Trace:
    """For each byte of shared memory: warp (in its block), clock, instruction and thread of an access; warp -1 for none."""

    def __init__(self, size: int) -> None:
        self.warp = np.full(size, -1, np.int16)
        self.clock = np.zeros(size, np.int32)
        self.pc = np.zeros(size, np.int32)
        self.thread = np.zeros(size, np.int32)

    def put(self, at: Arr, warp: Arr, clock: Arr, pc: int, thread: Arr) -> None:
        self.warp[at] = warp
        self.clock[at] = clock
        self.pc[at] = pc
        self.thread[at] = thread

    def clear(self, at: Arr) -> None:
        self.warp[at] = -1


class RaceCheck:
    """The clocks and traces of a batch of blocks."""

    def __init__(self, m: Machine, report: Report) -> None:
        self.m: Final = m
        self.report: Final = report
        self.blocks: Final = int(m.block_of[-1]) + 1
        self.per_block: Final = m.warps // self.blocks
        size = self.blocks * m.shared.stride
        self.written = _Trace(size)
        self.write_atomic = np.zeros(size, np.bool_)
        self.read = (_Trace(size), _Trace(size))
        self.clock = np.zeros((m.warps, self.per_block), np.int32)
        self.own = np.arange(m.warps) % self.per_block
        self.clock[np.arange(m.warps), self.own] = 1
        self.shared_clocks = np.zeros((self.blocks, _BARRIERS + 1, self.per_block), np.int32)
        self.atomics: dict[int, Arr] = {}
        """Clocks of addresses that atomics access; of global memory below zero."""
        self.object_at = np.full(size, -1, np.int32)
        """For each byte of shared memory, the first byte of what atomics accessed there; -1 for none."""
        self.waiting = np.full(m.warps, -1, np.int8)
        """The barrier that a warp takes the clock of when it goes on."""
        self.any_waiting = False

    # -- synchronisation

    def resume(self, cur: Active) -> None:
        """Lets warps that go on after a barrier take its clock."""
        warps = cur.warps[self.waiting[cur.warps] >= 0]
        if len(warps):
            from_ = self.shared_clocks[warps // self.per_block, self.waiting[warps]]
            self.clock[warps] = np.maximum(self.clock[warps], from_)
            self.waiting[warps] = -1
            self.any_waiting = bool((self.waiting >= 0).any())

    def _release(self, warps: Arr, number: Arr) -> None:
        np.maximum.at(self.shared_clocks, (warps // self.per_block, number), self.clock[warps])
        self.clock[warps, self.own[warps]] += 1

    def barrier(self, warps: Arr, number: Arr, waits: bool) -> None:
        """Warps arrive at barriers of their blocks; with `waits`, they take the clock when they go on."""
        self._release(warps, number)
        if waits:
            self.waiting[warps] = number
            self.any_waiting = True

    def barrier_object(self, warps: Arr) -> None:
        """Warps arrive at a barrier object, or test one."""
        number = np.full(len(warps), _OBJECTS)
        np.maximum.at(self.shared_clocks, (warps // self.per_block, number), self.clock[warps])
        self.clock[warps] = np.maximum(self.clock[warps], self.shared_clocks[warps // self.per_block, _OBJECTS])
        self.clock[warps, self.own[warps]] += 1

    def atomic(self, part: Touched, size: int, is_shared: bool) -> None:
        """Threads synchronise through the addresses of atomics, which warps access one after the other."""
        pairs = np.unique(np.stack([part.offset, part.threads >> 5], axis=1), axis=0)
        for address, warp in pairs.tolist():
            # An address of global memory orders the warps of each block.
            key = address if is_shared else -1 - (address * self.blocks + warp // self.per_block)
            known = self.atomics.get(key)
            if known is not None:
                np.maximum(self.clock[warp], known, out=self.clock[warp])
            self.atomics[key] = self.clock[warp].copy()
            self.clock[warp, self.own[warp]] += 1
        if is_shared:
            self.object_at[part.offset[:, None] + np.arange(size)] = part.offset[:, None]

    def load(self, part: Touched) -> None:
        """Threads that read what atomics write take the clock of its address."""
        objects = self.object_at[part.offset]
        which = objects >= 0
        if which.any():
            pairs = np.unique(np.stack([objects[which], part.threads[which] >> 5], axis=1), axis=0)
            for address, warp in pairs.tolist():
                np.maximum(self.clock[warp], self.atomics[address], out=self.clock[warp])

    # -- accesses

    def access(self, access: Access, part: Touched, pc: int, data: Arr | None) -> None:
        """Checks accesses of shared memory, and remembers them."""
        size = access.size
        at = (part.offset[:, None] + np.arange(size)).reshape(-1)
        thread = np.repeat(part.threads, size)
        warp = thread >> 5
        if self.m.cluster_size > 1:
            mine = at // self.m.shared.stride == warp // self.per_block
            if not mine.all():
                at, thread, warp, data = at[mine], thread[mine], warp[mine], None
        local = self.own[warp].astype(np.int16)
        now = self.clock[warp, local]
        new = None if data is None else data.reshape(-1)
        silent = np.zeros(len(at), np.bool_) if new is None else self.m.shared.data[at] == new
        self._against(self.written, "write", access, at, thread, warp, local, pc, silent)
        if access.writes:
            for trace in self.read:
                self._against(trace, "read", access, at, thread, warp, local, pc, silent)
            if not access.atomic:
                self._together(at, thread, warp, pc, new)
            self.written.put(at, local, now, pc, thread)
            self.write_atomic[at] = access.atomic
            for trace in self.read:
                trace.clear(at)
            return
        first, second = self.read
        old = first.warp[at]
        ordered = (old < 0) | (old == local) | (self.clock[warp, old] >= first.clock[at])
        for trace, where in ((first, ordered), (second, ~ordered)):
            trace.put(at[where], local[where], now[where], pc, thread[where])
        # Of several warps that read a byte at once, one is in the first trace: another goes to the second.
        other = first.warp[at] != local
        second.put(at[other], local[other], now[other], pc, thread[other])

    def _against(
        self,
        trace: _Trace,
        what: str,
        access: Access,
        at: Arr,
        thread: Arr,
        warp: Arr,
        local: Arr,
        pc: int,
        silent: Arr,
    ) -> None:
        old = trace.warp[at]
        bad = (old >= 0) & (old != local)
        if not bad.any():
            return
        bad &= self.clock[warp, old] < trace.clock[at]
        if what == "write" and (access.atomic or not access.writes):
            # A plain read of what an atomic wrote is how programs wait (a flag, a barrier object before sm_90).
            bad &= ~self.write_atomic[at]
        if access.writes:
            bad &= ~silent
        if bad.any():
            i = int(np.argmax(bad))
            kind = f"{'write' if access.writes else 'read'} after {what}"
            place = int(at[i])
            self.report(kind, place, int(trace.pc[place]), int(trace.thread[place]), pc, int(thread[i]))

    def _together(self, at: Arr, thread: Arr, warp: Arr, pc: int, new: Arr | None) -> None:
        """Different values that several warps store to a byte by one instruction."""
        order = np.argsort(at, kind="stable")
        a, w = at[order], warp[order]
        clash = (a[1:] == a[:-1]) & (w[1:] != w[:-1])
        if new is not None:
            v = new[order]
            clash &= v[1:] != v[:-1]
        if clash.any():
            i = int(np.argmax(clash))
            first, second = order[i], order[i + 1]
            self.report("write after write", int(at[first]), pc, int(thread[first]), pc, int(thread[second]))


def barrier_numbers(values: Arr, a: Active) -> tuple[Arr, Arr]:
    """The warps that arrive and the number of the barrier of each, from a value per thread."""
    first = np.flatnonzero(np.diff(a.warp_of, prepend=-1))
    return a.warps, np.broadcast_to(values, (a.n,))[first].astype(I64) & 15
