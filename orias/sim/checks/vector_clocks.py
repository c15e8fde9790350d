"""The order of what warps, threads and copies of a batch of blocks do, as vector clocks (Flanagan and Freund, FastTrack, 2009).

A row of clocks belongs to a warp.  Its columns are the warps of the cluster, the asynchronous copies of each of them, copies
that report to barrier objects (a few columns that the objects share), and the matrix operations that read shared memory, of each
warp (those of a warpgroup are in the column of its first warp).  The second half of a row has the same columns,
as far as a proxy fence stands between what happened there and now.  Rows pass from warp to warp through barriers of blocks and
clusters, barrier objects, atomics, and plain reads of what an atomic wrote.

Threads of a warp have clocks of their own: one knows what another did if both have met at an instruction that synchronises
the warp (``bar.warp.sync``; shuffles, votes and all that orders warps count too).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.checks.accesses import Touched
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64

Arr = npt.NDArray[Any]
_BARRIERS: Final = 16
_CLUSTER: Final = _BARRIERS
"""Number of the cluster's barrier, after those of a block."""
_SLOTS: Final = 32
"""Columns that all barrier objects of a cluster share."""
_LANES: Final = np.arange(32)


class Clocks:
    """The clocks of a batch of blocks."""

    def __init__(self, m: Machine) -> None:
        self.m: Final = m
        self.blocks: Final = int(m.block_of[-1]) + 1
        self.per_block: Final = m.warps // self.blocks
        self.group: Final = self.per_block * m.cluster_size
        """Warps of a cluster."""
        self.products: Final = 2 * self.group + _SLOTS
        """The first column of matrix operations."""
        self.width: Final = self.products + self.group
        self.row = np.zeros((m.warps, 2 * self.width), np.int32)
        self.own: Final = np.arange(m.warps) % self.group
        """The column of each warp."""
        self.row[np.arange(m.warps), self.own] = 1
        self._barriers: dict[int, Arr] = {}
        """Rows of barriers: block times 17 plus its number, or number 16 for the barrier of the cluster."""
        self._released: dict[int, Arr] = {}
        """Rows of addresses that atomics access, and of barrier objects; of global memory below zero."""
        self.object_at = np.full(self.blocks * m.shared.stride, -1, np.int32)
        """For each byte of shared memory, the first byte of what atomics accessed there; -1 for none."""
        self._waiting = np.full(m.warps, -1, np.int8)
        """The barrier whose row a warp takes when it goes on."""
        self.any_waiting = False
        self._issued: dict[tuple[int, int], int] = {}
        """Cluster and column -> number of the last copy."""
        self._slots: dict[int, int] = {}
        """Barrier object -> its column."""
        self.lane = np.zeros((m.warps, 32, 32), np.int32)
        """What each lane of a warp knows of the others."""
        self.lane[:, _LANES, _LANES] = 1
        self.joined = np.zeros(m.warps, np.int32)
        """How often threads of a warp have met."""
        self.dirty = np.zeros(m.warps, np.bool_)
        """The warp has accessed memory since its threads met."""
        self._arrived: dict[tuple[int, int], int] = {}
        """Warp and mask -> lanes that wait at a barrier of part of the warp."""

    # -- threads of a warp

    def join(self, warps: Arr) -> None:
        """All threads of some warps meet."""
        warps = warps[self.dirty[warps]]
        if not len(warps):
            return
        top = self.lane[warps].max(axis=1)
        self.lane[warps] = top[:, None, :]
        self.lane[warps[:, None], _LANES, _LANES] = top + 1
        self.joined[warps] += 1
        self.dirty[warps] = False

    def meet(self, act: Active, mask: Arr) -> None:
        """Threads come to a barrier of the lanes of their warp in `mask` (one for each thread)."""
        alive = self.m.alive.reshape(-1, 32)
        here: dict[tuple[int, int], int] = {}
        for thread, m in zip(act.index.tolist(), mask.tolist(), strict=True):
            key = thread >> 5, m
            here[key] = here.get(key, 0) | 1 << (thread & 31)
        for (warp, m), lanes in here.items():
            living = int(np.bitwise_or.reduce(np.where(alive[warp], 1 << _LANES, 0)))
            arrived = lanes | self._arrived.pop((warp, m), 0)
            if m & living & ~arrived:
                self._arrived[warp, m] = arrived
                continue
            who = np.flatnonzero(arrived >> _LANES & 1)
            top = self.lane[warp][who].max(axis=0)
            self.lane[warp, who] = top
            self.lane[warp, who, who] = top[who] + 1
            self.joined[warp] += 1

    # -- barriers

    def resume(self, cur: Active) -> None:
        """Lets warps that go on after a barrier take its row."""
        warps = cur.warps[self._waiting[cur.warps] >= 0]
        for w in warps.tolist():
            np.maximum(self.row[w], self._barriers[self._key(w, int(self._waiting[w]))], out=self.row[w])
        if len(warps):
            self._waiting[warps] = -1
            self.any_waiting = bool((self._waiting >= 0).any())
            self.join(warps)

    def _key(self, warp: int, number: int) -> int:
        block = warp // self.per_block
        return (block - (block % self.m.cluster_size if number == _CLUSTER else 0)) * (_CLUSTER + 1) + number

    def barrier(self, warps: Arr, numbers: Arr, waits: bool) -> None:
        """Warps arrive at barriers of their blocks; with `waits`, they take the row when they go on."""
        self.join(warps)
        for w, number in zip(warps.tolist(), numbers.tolist(), strict=True):
            self._release(self._barriers, self._key(w, number), w)
        if waits:
            self._waiting[warps] = numbers
            self.any_waiting = True

    def cluster(self, warps: Arr, waits: bool) -> None:
        """Warps arrive at the barrier of their cluster, or wait at it."""
        self.join(warps)
        if waits:
            self._waiting[warps] = _CLUSTER
            self.any_waiting = True
        else:
            for w in warps.tolist():
                self._release(self._barriers, self._key(w, _CLUSTER), w)

    def _release(self, rows: dict[int, Arr], key: int, warp: int) -> None:
        known = rows.get(key)
        if known is None:
            rows[key] = self.row[warp].copy()
        else:
            np.maximum(known, self.row[warp], out=known)
        self.row[warp, self.own[warp]] += 1

    # -- barrier objects and atomics

    def arrive(self, offset: Arr, threads: Arr) -> None:
        """Threads arrive at barrier objects in shared memory."""
        for at, warp in _pairs(offset, threads):
            self.join(np.array([warp]))
            self._release(self._released, at, warp)
            self.object_at[at : at + 8] = at

    def passed(self, offset: Arr, threads: Arr) -> None:
        """Threads find that a phase of barrier objects is over."""
        for at, warp in _pairs(offset, threads):
            known = self._released.get(at)
            if known is not None:
                np.maximum(self.row[warp], known, out=self.row[warp])
            self.join(np.array([warp]))

    def atomic(self, part: Touched, size: int, is_shared: bool) -> None:
        """Threads synchronise through the addresses of atomics, which warps access one after the other."""
        for address, warp in _pairs(part.offset, part.threads):
            # An address of global memory orders the warps of each cluster.
            key = address if is_shared else -1 - (address * self.blocks + warp // self.group)
            known = self._released.get(key)
            if known is not None:
                np.maximum(self.row[warp], known, out=self.row[warp])
            self.join(np.array([warp]))
            self._release(self._released, key, warp)
        if is_shared:
            self.object_at[part.offset[:, None] + np.arange(size)] = part.offset[:, None]

    def load(self, part: Touched) -> None:
        """Threads that read what atomics write take the row of its address."""
        objects = self.object_at[part.offset]
        which = objects >= 0
        if which.any():
            self.passed(objects[which], part.threads[which])

    def fence(self, warps: Arr) -> None:
        """A fence between the generic proxy and the proxy of copies."""
        w = self.width
        self.row[warps, w:] = np.maximum(self.row[warps, w:], self.row[warps, :w])
        self.row[warps, self.own[warps]] += 1

    # -- copies

    def issue(self, warp: int, signal: int) -> tuple[int, int]:
        """Column and number of a new copy: of the warp's own ones, or one that reports to the object at `signal`."""
        column = self.group + int(self.own[warp])
        if signal >= 0:
            column = 2 * self.group + self._slots.setdefault(signal, len(self._slots) % _SLOTS)
        key = warp // self.group, column
        number = self._issued[key] = self._issued.get(key, 0) + 1
        return column, number

    def complete(self, signal: int, column: int, number: int) -> None:
        """A copy is done and has reported to a barrier object: who waits there is after it."""
        known = self._released.setdefault(signal, np.zeros(2 * self.width, np.int32))
        known[column] = max(int(known[column]), number)
        self.object_at[signal : signal + 8] = signal

    def waited(self, warp: int, number: int) -> None:
        """A warp has waited for its own copies up to a number."""
        self.reached(warp, self.group + int(self.own[warp]), number)

    def reached(self, warp: int, column: int, number: int) -> None:
        """A warp has waited for what has a column of its own, up to a number."""
        self.row[warp, column] = max(int(self.row[warp, column]), number)


def _pairs(offset: Arr, threads: Arr) -> list[list[int]]:
    """Different pairs of an address and the warp of a thread, in ascending order."""
    out: list[list[int]] = np.unique(np.stack([offset.astype(I64), threads >> 5], axis=1), axis=0).tolist()
    return out


def barrier_numbers(values: Arr, a: Active) -> tuple[Arr, Arr]:
    """The warps that arrive and the number of the barrier of each, from a value per thread."""
    first = np.flatnonzero(np.diff(a.warp_of, prepend=-1))
    return a.warps, np.broadcast_to(values, (a.n,))[first].astype(I64) & 15
