"""The state of a batch of thread blocks: registers, predicates, and which threads are active.

Threads are numbered through the batch; every block starts at a multiple of 32, and its last warp may have absent lanes.
R registers and predicates are rows over threads; uniform registers and uniform predicates are rows over warps.
Convergence barriers are also rows over threads: each thread has the members of the barrier that it holds, because the
two sides of a branch may use the same barrier register for different barriers (as in ptxas's code).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orias.sim.core.banked_memory import Arena, Banked
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.math.ops_int import U32, U64, popc

Arr = npt.NDArray[Any]
Sel = slice | Arr

POISON: Final = 0x7FF0DEAD
"""Value of registers before they are written: a NaN that is easy to recognise in results."""


def unwritten_byte(fill: int) -> int:
    """The byte of shared and local memory before it is written, where registers hold `fill`: 0xcd, which stands out, with POISON."""
    return 0xCD if fill == POISON else fill & 0xFF


UNIFORM_ROWS: Final = 80
"""Uniform registers that a machine has rows for; the others read as zeros."""
_FULL: Final = np.uint32(0xFFFFFFFF)
"""All lanes."""

COPY_STEPS: Final = 64
"""Minimum steps that an asynchronous copy takes, unless its group is waited for."""

_LATE_STEPS: Final = 1 << 14
"""The same with ``late``, if nothing waits for it: for code that learns in another way that a copy is done."""


def warp_masks(flags: Arr) -> Arr:
    """A bit for each lane, of flags of all threads of warps, [threads] or [warps, 32]."""
    result: Arr = np.packbits(flags.reshape(-1), bitorder="little").view(U32)
    return result


def widen(v: Arr, n: int) -> Arr:
    """A value per thread from an array that may have one value for all; read-only."""
    return v if v.shape == (n,) else np.broadcast_to(v, (n,))


_DENSE: Final = 4
"""A set with at least one thread in so many of its range runs element by element on the whole range."""

_SPREAD: Final = 16
"""A set with at least one thread in so many of its range is looked at by flags of the range."""


class Active:
    """A set of threads that execute together, made from their ascending numbers.

    ``sel`` indexes rows over threads (a slice where they are contiguous); ``lanes`` is None, or tells which threads of the slice
    take results (a bool each), in a set for instructions that work element by element (:attr:`rows`).
    """

    __slots__ = (
        "_firsts",
        "_index",
        "_lane_mask",
        "_mask",
        "_position",
        "_rows",
        "_sel",
        "_warp_of",
        "_warps",
        "_warp_rows",
        "_words",
        "first",
        "lanes",
        "n",
        "stop",
    )

    def __init__(self, index: Arr) -> None:
        first, last, n = int(index[0]), int(index[-1]), len(index)
        self._set(first, last + 1, n)
        self._index: Arr | None = index
        self._sel: Sel | None = slice(first, last + 1) if last - first + 1 == n else index

    def _set(self, first: int, stop: int, n: int) -> None:
        self.first = first
        self.stop = stop
        """End of the range of threads."""
        self.n = n
        self.lanes: Arr | None = None
        self._mask: Arr | None = None
        self._rows: Active | None = None
        self._warp_rows: tuple[int, int, Arr | None] | None = None
        self._words: Arr | None = None
        self._warp_of: Arr | None = None
        self._warps: Arr | None = None
        self._firsts: Arr | None = None
        self._position: Arr | None = None
        self._lane_mask: Arr | None = None

    @classmethod
    def where(cls, mask: Arr, start: int) -> "Active":
        """The threads from `start` on where `mask` holds (at least one); the array is kept and must not change."""
        first = int(mask.argmax())
        stop = len(mask) - int(mask[::-1].argmax())
        mask = mask[first:stop]
        new = cls.__new__(cls)
        new._set(first + start, stop + start, int(np.count_nonzero(mask)))
        new._index = None
        new._sel = None
        if new.n == stop - first:
            new._sel = slice(new.first, new.stop)
        else:
            new._mask = mask
        return new

    def join(self, other: "Active") -> "Active":
        """The threads of both of two sets that have none in common."""
        first, stop = min(self.first, other.first), max(self.stop, other.stop)
        mask = np.zeros(stop - first, np.bool_)
        for part in (self, other):
            if part._sel is None and part._mask is not None:
                mask[part.first - first : part.stop - first] |= part._mask
            elif part.n == part.stop - part.first:
                mask[part.first - first : part.stop - first] = True
            elif part.stop - part.first <= _SPREAD * part.n:
                mask[part.first - first : part.stop - first] |= part.mask
            else:
                mask[part.index - first] = True
        return Active.where(mask, first)

    @property
    def sel(self) -> Sel:
        """Index of the threads in rows over threads."""
        if self._sel is None:
            assert self._mask is not None
            self._index = np.flatnonzero(self._mask) + self.first
            self._sel = self._index
        return self._sel

    @property
    def index(self) -> Arr:
        """Thread numbers, ascending."""
        if self._index is None:
            sel = self.sel
            self._index = np.arange(sel.start, sel.stop) if isinstance(sel, slice) else sel
        return self._index

    @property
    def rows(self) -> "Active":
        """The set for instructions that work element by element: contiguous, with ``lanes``, where that is faster."""
        span = self.stop - self.first
        if not self.n < span <= _DENSE * self.n:
            return self
        if self._rows is None:
            mask = self.mask
            wide = Active.__new__(Active)
            wide._set(self.first, self.stop, span)
            wide._index = None
            wide._sel = slice(self.first, self.stop)
            wide.lanes = mask
            self._rows = wide
        return self._rows

    @property
    def mask(self) -> Arr:
        """Which threads of the range are in the set, a bool each."""
        if self._mask is None:
            self._mask = np.zeros(self.stop - self.first, np.bool_)
            self._mask[self.index - self.first] = True
        return self._mask

    @property
    def warp_rows(self) -> tuple[int, int, Arr | None]:
        """The range of whole warps that has the threads: first, end, and which threads these are, None for all."""
        if self._warp_rows is None:
            first, stop = self.first & -32, -(-self.stop // 32) * 32
            if (first, stop) == (self.first, self.stop):
                self._warp_rows = first, stop, None if self.n == stop - first else self.mask
            else:
                lanes = np.zeros(stop - first, np.bool_)
                lanes[self.first - first : self.stop - first] = True if self.n == self.stop - self.first else self.mask
                self._warp_rows = first, stop, lanes
        return self._warp_rows

    @property
    def words(self) -> Arr:
        """Where ``lanes`` is not None: all ones in the words of its threads."""
        if self._words is None:
            assert self.lanes is not None
            self._words = np.negative(self.lanes.view(np.int8), dtype=np.int32).view(U32)
        return self._words

    def part(self, keep: Arr) -> "Active":
        """The threads where `keep` holds (at least one); it has a value for each thread of ``rows``."""
        rows = self.rows
        if isinstance(rows.sel, slice):
            if rows.lanes is not None:
                keep = keep & rows.lanes
            elif keep.base is not None:
                keep = keep.copy()
            return Active.where(keep, rows.first)
        return Active(rows.sel[keep])

    def subset(self, keep: Arr) -> "Active":
        """The threads where `keep`, with a value for each thread of the set, holds (at least one)."""
        sel = self.sel
        if isinstance(sel, slice):
            return Active.where(keep if keep.base is None else keep.copy(), self.first)
        return Active(sel[keep])

    @property
    def warp_of(self) -> Arr:
        """The warp of each thread."""
        if self._warp_of is None:
            self._warp_of = self.index >> 5
        return self._warp_of

    @property
    def whole(self) -> bool:
        """The set is all threads of adjacent warps."""
        return self.first & 31 == 0 and self.n & 31 == 0 and self.n == self.stop - self.first

    def _group(self) -> None:
        if self.whole:
            self._warps = np.arange(self.first >> 5, self.stop >> 5)
            self._lane_mask = np.full(self.n >> 5, _FULL)
            return
        if self.stop - self.first <= _SPREAD * self.n:
            # By the bits of whole warps of the range.
            start = self.first & -32
            lanes = np.zeros(-(-(self.stop - start) // 32) * 32, np.bool_)
            lanes[self.first - start : self.stop - start] = True if self.n == self.stop - self.first else self.mask
            masks = warp_masks(lanes)
            some = np.flatnonzero(masks)
            self._warps, self._lane_mask = some + (start >> 5), masks[some]
            return
        warp_of = self.index >> 5
        starts = np.flatnonzero(np.diff(warp_of, prepend=-1))
        self._warps = warp_of[starts]
        bits = np.left_shift(np.uint32(1), (self.index & 31).astype(U32))
        self._lane_mask = np.bitwise_or.reduceat(bits, starts)

    @property
    def warps(self) -> Arr:
        """Warps with at least one active thread, ascending."""
        if self._warps is None:
            self._group()
        assert self._warps is not None
        return self._warps

    @property
    def position(self) -> Arr:
        """Index of each thread in a flattened array [active warps, 32]."""
        if self._position is None:
            if self.whole:
                self._position = np.arange(self.n)
            else:
                row = np.repeat(np.arange(len(self.warps)) * 32, popc(self.lane_mask))
                self._position = row + (self.index & 31)
        return self._position

    @property
    def lane_mask(self) -> Arr:
        """Active lanes of each active warp, one bit per lane."""
        if self._lane_mask is None:
            self._group()
        assert self._lane_mask is not None
        return self._lane_mask

    @property
    def firsts(self) -> Arr:
        """Position of the first active thread of each active warp."""
        if self._firsts is None:
            if self.whole:
                self._firsts = np.arange(0, self.n, 32)
            else:
                counts = popc(self.lane_mask).astype(np.int64)
                self._firsts = np.cumsum(counts) - counts
        return self._firsts

    def need_whole_warps(self, what: str) -> None:
        """Raises a Fault unless all lanes of the warps are active; `what` needs them."""
        if not self.whole and (self.lane_mask != _FULL).any():
            raise Fault(IllegalInstruction, f"{what} needs all threads of the warp", 0)

    def spread(self, values: Arr, fill: Any = 0) -> Arr:
        """Values of the threads in an array [active warps, 32], read-only."""
        if self.whole:
            rows = values.reshape(-1, 32)
            rows.flags.writeable = False
            return rows
        out = np.full(len(self.warps) * 32, fill, values.dtype)
        out[self.position] = values
        return out.reshape(-1, 32)

    def each(self, values: Arr) -> Arr:
        """For each thread the value of its warp, from those of the active warps."""
        if self.whole:
            return np.repeat(values, 32)
        result: Arr = np.repeat(values, popc(self.lane_mask))
        return result

    def gather(self, spread: Arr) -> Arr:
        """The inverse of :meth:`spread`; may be a view."""
        if self.whole:
            return spread.reshape(-1)
        result: Arr = spread.reshape(-1)[self.position]
        return result


def _no_syscalls(m: "Machine", address: int, who: Active) -> Arr | None:
    raise Fault(IllegalInstruction, f"call of 0x{address:x}", 0)


class CopyWatch(Protocol):
    """What looks at asynchronous copies and at barriers of the grid; bytes are offsets in shared memory or device memory, arrays of one per byte."""

    def grid_met(self) -> None:
        """All threads of the grid have met, by a function of the system."""

    def copy(
        self, thread: int, source: "Bytes", goal: "Bytes", signals: list[int], adds: bool, proxy: bool
    ) -> Callable[[], None]:
        """A thread starts a copy that reports to barrier objects (offsets in shared memory); returns what to call at its end.

        `adds`: it is a reduction; `proxy`: it uses the proxy of asynchronous copies.
        """

    def store(self, thread: int, goal: "Bytes") -> None:
        """A thread stores bytes by an operation of its warp."""

    def product(self, thread: int, first: int, source: Arr) -> None:
        """A matrix operation of a thread's warp begins to read bytes of shared memory (offsets).

        `first`: the first warp of those that run the same operation together.
        """

    def products_grouped(self, thread: int) -> None:
        """The matrix operations of a thread's warp that are in no group become one."""

    def products_done(self, thread: int, pending: int) -> None:
        """All but the last `pending` groups of matrix operations of a thread's warp are done."""

    def signal(self, thread: int, objects: list[int]) -> None:
        """Matrix operations of a thread's warp arrive at barrier objects when they are done."""


class Bytes(NamedTuple):
    """Places of a copy: in shared memory or in device memory; ``where``: which bytes of the copy these are, None for all."""

    shared: bool
    offset: Arr
    where: Arr | None = None


class Pending(NamedTuple):
    """An asynchronous operation that is not done."""

    due: int
    """Clock at which it is done at the latest."""
    finish: Callable[[], None]
    warp: int
    """The warp that waits for it by a group of bulk copies; -1: none."""
    group: int
    """Number of its group, counted by warp."""
    objects: tuple[int, ...]
    """Barrier objects that it reports to (offsets in shared memory)."""
    queue: int
    """Operations of one queue are done in order; -1: in any order."""


class Machine:
    """Registers and memories of a batch of blocks."""

    def __init__(
        self,
        threads: int,
        registers: int,
        present: Arr,
        block_of: Arr,
        arena: Arena,
        shared: Banked,
        local: Banked,
        fill: int = POISON,
        store: Arr | None = None,
    ) -> None:
        """`fill`: the value of registers before they are written; `store`: an array for them, [registers, threads]."""
        self.threads = threads
        self.warps = threads // 32
        if store is None:
            store = np.empty((min(registers, 255), threads), U32)
        store[:] = fill
        self.R: list[Arr] = list(store)
        zeros = np.zeros(threads, U32)
        self.R += [zeros] * (256 - len(self.R))
        self.register_count = min(registers, 255)
        self.store: Final = store
        """The registers in one array, as the next three."""
        self.predicate_store: Final = np.zeros((8, threads), np.bool_)
        self.predicate_store[7] = True
        self.P: list[Arr] = list(self.predicate_store)
        self.uniform_store: Final = np.full((UNIFORM_ROWS, self.warps), fill, U32)
        self.UR: list[Arr] = list(self.uniform_store)
        self.UR += [np.zeros(self.warps, U32)] * (256 - len(self.UR))
        self.uniform_predicate_store: Final = np.zeros((8, self.warps), np.bool_)
        self.uniform_predicate_store[7] = True
        self.UP: list[Arr] = list(self.uniform_predicate_store)
        self.barrier_store: Final = np.zeros((16, threads), U32)
        self.B: list[Arr] = list(self.barrier_store)
        """Convergence barrier registers: the members of the barrier that each thread holds."""
        self.stamp: defaultdict[int, int] = defaultdict(int)
        """How often a builder's setter has written each register."""
        self.derived: dict[tuple[int, int], Any] = {}
        """What was computed from registers, to be used again until they change (:mod:`orias.sim.core.derived`)."""
        self.deriving = False
        """The instruction writes registers by setters only, which count in ``stamp``."""
        self.const: dict[int, Arr] = {}
        """Constant banks as uint8 arrays, padded with zeros."""
        self.const32: dict[int, Arr] = {}
        self.arena = arena
        self.shared = shared
        self.local = local
        self.present = present
        self.alive = present.copy()
        self.block_of = block_of
        """Block of each thread, numbered within the batch."""
        self.bank_words: Arr = block_of * (shared.stride >> 2)
        """Number of the first 32-bit word of each thread's shared memory."""
        self.special: dict[str, Arr] = {}
        """Special registers that have a value per thread."""
        self.clock = 0
        self.rpc: list[Arr] = [np.zeros(threads, U32), np.zeros(threads, U32)]
        """Low and high half of each thread's return-address register."""
        self.later: list[Pending] = []
        """Asynchronous operations that are not done, in the order in which they were issued."""
        self.bulk_groups: defaultdict[int, int] = defaultdict(int)
        """How many groups of bulk copies each warp has closed."""
        self.changed = 0
        """Clock of the last change of a barrier object or a block barrier."""
        self.waits: dict[int, tuple[int, int, int]] = {}
        """Barrier objects that threads poll: offset in shared memory -> (clock, first thread, threads)."""
        self.cluster_size = 1
        """Blocks per cluster; they are adjacent in the batch, in order of rank."""
        self.window_shared = 0
        self.window_local = 0
        self.has_clusters = False
        self.hardware_barriers = False
        self.late = False
        """Asynchronous operations read their sources as late as hardware may."""
        self.copying: dict[int, list[list[Callable[[], None]]]] = {}
        """Copies by ``cp.async`` that have not been done, by warp: the open group last."""
        self.mufu_error = 0
        """Units in the last place that are added to results of MUFU."""
        self.sum_error = 0
        """Added to inexact sums of floating-point products, in units of 2**-22 of the addends' magnitudes."""
        self.watch: Callable[[Machine, int], None] | None = None
        """Called with the address of every instruction after it has run."""
        self.warpgroup: dict[int, Any] = {}
        """Pending warpgroup operations, by warp (:class:`orias.sim.matrix.exec_warpgroup.Queue`)."""
        self.tensor: dict[int, Any] = {}
        """Tensor memory by block (:class:`orias.sim.matrix.tensor_memory.TensorMemory`)."""
        self.copy_watch: CopyWatch | None = None
        self.at_grid: Arr | None = None
        """Threads that wait at the barrier of the grid (row 0), and threads that all have come for (row 1); None before its first use."""
        self.launch_errors: dict[int, int] = {}
        """The last error of the device runtime, by thread."""
        self.syscalls: Callable[[Machine, int, Active], Arr | None] = _no_syscalls
        """Executes a call of a system function by some threads of a machine."""
        self.next_work: Callable[[], tuple[int, int, int] | None] = lambda: None
        """Takes the work of a cluster that has not started (:meth:`orias.sim.core.launch.Launch.next_work`)."""

    def defer(self, finish: Callable[[], None], warp: int = -1, objects: Iterable[int] = (), queue: int = -1) -> None:
        """Let `finish` run some steps later, or with ``late`` when it is waited for; the others are fields of :class:`Pending`."""
        due = self.clock + (_LATE_STEPS if self.late else COPY_STEPS)
        self.later.append(Pending(due, finish, warp, self.bulk_groups[warp], tuple(objects), queue))

    def end(self) -> None:
        """After the run: drops what may refer to the machine, so that its memory is free at once and not when cycles are collected."""
        self.syscalls = _no_syscalls
        self.later.clear()
        self.copying.clear()

    def finish_due(self) -> None:
        """Finish the copies that are due."""
        while self.later and self.later[0].due <= self.clock:
            self.later.pop(0).finish()

    def finish_copies(self) -> None:
        """Finish all copies."""
        self._finish([True] * len(self.later))

    def finish_groups(self, warps: list[int], left: int) -> None:
        """Finish the copies of bulk groups that some warps wait for: all, with ``late`` those of all but the newest `left`."""
        if not self.late:
            self._finish([x.warp >= 0 for x in self.later])
            return
        self._finish([x.warp in warps and x.group < self.bulk_groups[x.warp] - left for x in self.later])

    def finish_for(self, objects: Arr) -> None:
        """Finish the first operation that reports to each of some barrier objects, and those before it in its queue."""
        wanted = set(objects.tolist())
        ready = [False] * len(self.later)
        ends: dict[int, int] = {}
        for k, x in enumerate(self.later):
            found = wanted.intersection(x.objects)
            if found:
                wanted -= found
                ready[k] = True
                ends[x.queue] = k
        for k, x in enumerate(self.later):
            ready[k] = ready[k] or (x.queue >= 0 and k <= ends.get(x.queue, -1))
        self._finish(ready)

    def _finish(self, which: list[bool]) -> None:
        """Finish some of the pending operations, in their order."""
        pending = self.later
        self.later = [x for x, now in zip(pending, which, strict=True) if not now]
        for x, now in zip(pending, which, strict=True):
            if now:
                x.finish()

    def copy_done(self, warps: list[int], left: int = -1) -> None:
        """Do the copies by ``cp.async`` of some warps: all, or those of all groups but the newest `left`."""
        for w in warps:
            groups = self.copying.get(w)
            if groups is None:
                continue
            if left < 0:
                groups.append([])
            while len(groups) > max(left, 0) + 1:
                for finish in groups.pop(0):
                    finish()

    def set_bank(self, number: int, data: bytes) -> None:
        """Sets the contents of a constant bank."""
        padded = np.frombuffer(data + bytes(65552 - len(data)), np.uint8)
        self.const[number] = padded
        self.const32[number] = padded.view(U32)

    def pair(self, r: int, sel: Sel) -> Arr:
        """A 64-bit register value."""
        if r == 255:
            return np.zeros(1, U64)
        result: Arr = (self.R[r + 1][sel].astype(U64) << np.uint64(32)) | self.R[r][sel]
        return result

    def uniform(self, r: int, warp: int) -> int:
        """A uniform register of a warp."""
        return int(self.UR[r][warp])

    def uniform_pair(self, r: int, warp: int) -> int:
        """A pair of uniform registers of a warp."""
        return self.uniform(r + 1, warp) << 32 | self.uniform(r, warp)

    def block_of_warp(self, warp: int) -> int:
        """The block of a warp, numbered within the batch."""
        return int(self.block_of[32 * warp])

    def warp_in_block(self, warp: int) -> int:
        """The number of a warp within its block."""
        return warp - int(np.searchsorted(self.block_of, self.block_of_warp(warp))) // 32
