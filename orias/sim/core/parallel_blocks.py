"""Runs the blocks of a launch in several processes, and puts their changes of memory together.

Each share of the blocks has a copy of the launch with its memory, and returns the bytes that it changed.  A forked process has
such a copy without anyone making one.  So blocks do not see each other's stores, and only kernels whose code cannot wait for or
count other blocks may run so: :func:`why_together` decides.  Changes are applied in the order of blocks.

The memory of the driver library is the whole address space of a process, which nobody compares: there, a forked process keeps
a copy of each page before the first store to it (:class:`PagesBefore`).
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orias.isa.op import ANYWHERE, F_ATOMIC, GLOBAL, Op
from orias.sim.core.banked_memory import PAGE, Arena
from orias.sim.core.launch import Launch
from orias.sim.core.loaded_cubin import LoadedCubin
from orias.sim.core.sim_errors import SimError, StepLimit
from orias.target.driver import DEVICE_LAUNCHES

Arr = npt.NDArray[Any]

LARGE: Final = 1 << 14
"""Threads from which on a launch is worth processes."""
_STEP: Final = 64
"""Pages that are compared at a time: so many that they stay in the cache."""
_GROUP: Final = 1 << 16
"""Pages of which it is noted together which are kept."""

_ATOMICS: Final = ("ATOM", "ATOMG", "RED", "REDG")
_OTHERS: Final = {
    "UBLKRED": "reductions in global memory", "UTMAREDG": "reductions in global memory", "REDAS": "reductions in other blocks",
    "SUST": "stores to surfaces", "SURED": "stores to surfaces", "SUATOM": "stores to surfaces",
    "UGETNEXTWORKID": "takes work of other blocks", "LDGMC": "multicast memory", "UREDGR": "reductions in global memory",
    "USTGR": "stores of uniform registers",
}  # fmt: skip


class Share(NamedTuple):
    """What a share of the blocks did: changes of device memory, text, counts, and how it failed."""

    changes: "Changes"
    output: str
    instructions: int
    steps: int
    let_go: int
    error: SimError | None


def _reason(op: Op) -> str:
    """Why an operation needs the blocks of its launch in one process; empty if it does not."""
    found = _OTHERS.get(op.base)
    if found is not None:
        return found
    if op.space in (GLOBAL, ANYWHERE):
        if op.flags & F_ATOMIC or op.base in _ATOMICS:
            return f"{op.name} on global memory"
        if op.has("STRONG") or op.has("MMIO"):
            return f"{op.name}, which sees stores of other blocks"
    if op.base in ("MEMBAR", "FENCE") and any(op.has(x) for x in ("GPU", "SYS", "VC")):
        return f"{op.name} orders memory for other blocks"
    return ""


def why_together(image: LoadedCubin, kernel: str) -> str:
    """Why the blocks of a kernel must run in one process; empty if they need not."""
    for name in ("malloc", "free"):
        if any(s.name == name and s.section == 0 for s in image.reader.elf.symbols):
            return f"{name} in the kernel"
    if any(s.name.startswith(DEVICE_LAUNCHES) and s.section == 0 for s in image.reader.elf.symbols):
        return "kernels that kernels launch"
    return next(filter(None, map(_reason, sorted(image.operations(kernel), key=lambda op: op.name))), "")


class _Part(Protocol):
    """A share that runs: a future, or a :class:`_Child`."""

    def result(self) -> Share:
        """Waits for the share."""

    def cancel(self) -> bool:
        """Ends it if it has not begun; a child in any case."""


class _Child:
    """A forked process that runs a share: it has the launch and its memory without copies of them."""

    def __init__(self, launch: Launch, start: int, stop: int) -> None:
        end, other = os.pipe()
        with warnings.catch_warnings():
            # Python warns of other threads, whose locks the child may find taken; all it does is run blocks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = os.fork()
        if self._process == 0:
            _run_and_end(launch, start, stop, end, other)
        os.close(other)
        self._end = os.fdopen(end, "rb")

    def result(self) -> Share:
        """Waits for the share."""
        try:
            share: Share = pickle.load(self._end)
        except (EOFError, pickle.UnpicklingError):
            raise BrokenProcessPool("a process of the launch ended without a result") from None
        return share

    def cancel(self) -> bool:
        """Ends the process."""
        self._end.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        return True


def _run_and_end(launch: Launch, start: int, stop: int, unused: int, end: int) -> None:
    """What a forked process does: it ends without what the program has asked to be done at its end."""
    try:
        os.close(unused)
        with os.fdopen(end, "wb") as out:
            pickle.dump(_share(launch, start, stop), out, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)


def _other_threads() -> bool:
    """Whether other threads run Python code or wait in it.

    A forked process has none of them, and what they have locked stays locked in it.  Threads that run no Python do no harm: the
    C library makes its own locks free in the new process, and blocks take no others.
    """
    return len(sys._current_frames()) > 1


def run_in_processes(launch: Launch, count: int) -> None:
    """Runs all blocks in `count` processes, of which this one is the first where the system can fork it."""
    if "fork" not in multiprocessing.get_all_start_methods() or _other_threads():
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
            run_apart(launch, pool, count)
        return
    _fork(launch, _bounds(launch, count))


def run_alone_first(launch: Launch, count: int, seconds: float, together: Callable[[], str]) -> str:
    """Runs blocks in this process, and divides the rest among `count` of them once it will take this one `seconds` or longer.

    `together` says why the blocks must run in one process (empty if they need not); returns what it said, if it was asked.
    """
    with np.errstate(all="ignore"):
        first = launch.run_blocks(0, launch.block_count, seconds)
        if first == launch.block_count:
            return ""
        reason = together() or ("other threads of Python run" if _other_threads() else "")
        if reason:
            launch.run_blocks(first, launch.block_count)
            return reason
    _fork(launch, _bounds(launch, count, first), True)
    return ""


def _fork(launch: Launch, bounds: list[int], again: bool = False) -> None:
    """Runs shares with these bounds, the first in this process.

    `again`: the share of a process that ended without a result (for lack of memory, say) runs here.
    """
    parts: list[_Part] = [_Child(launch, start, stop) for start, stop in pairwise(bounds[1:])]
    try:
        with np.errstate(all="ignore"):
            launch.run_blocks(bounds[0], bounds[1])
        _put_together(launch, parts, bounds[1:], again)
    finally:
        for part in parts:
            part.cancel()


def run_apart(launch: Launch, executor: Executor, shares: int) -> None:
    """Runs all blocks in `shares` parts of an executor; what each did is added to the launch as if they had run in turn."""
    bounds = _bounds(launch, shares)
    packed = pickle.dumps(launch, pickle.HIGHEST_PROTOCOL)
    parts: list[_Part] = [executor.submit(run_share, packed, start, stop) for start, stop in pairwise(bounds)]
    try:
        _put_together(launch, parts, bounds)
    finally:
        for part in parts:
            part.cancel()


def _bounds(launch: Launch, shares: int, start: int = 0) -> list[int]:
    """The first block of each share, from the block `start` on, and the number of blocks."""
    ranks = launch.shape.cluster[0] * launch.shape.cluster[1] * launch.shape.cluster[2]
    clusters = (launch.block_count - start) // ranks
    shares = min(shares, clusters)
    return [start + clusters * k // shares * ranks for k in range(shares + 1)]


def _put_together(launch: Launch, parts: list[_Part], bounds: list[int], again: bool = False) -> None:
    """Adds what shares did to the launch, in turn; `bounds`: the first block of each, and the one after the last."""
    image = launch.image
    for part, (start, end) in zip(parts, pairwise(bounds), strict=True):
        try:
            share = part.result()
        except BrokenProcessPool:
            if not again:
                raise
            with np.errstate(all="ignore"):
                launch.run_blocks(start, end)
            continue
        share.changes.apply(image.arena.data)
        image.syscalls.output.append(share.output)
        launch.instructions += share.instructions
        launch.steps += share.steps
        launch.let_go = launch.let_go or share.let_go
        if share.error is not None:
            raise share.error
        if launch.steps > launch.options.max_steps:
            raise StepLimit(f"more than {launch.options.max_steps} steps", launch.name)
        if image.progress is not None:
            image.progress(end * launch.block_threads, launch.block_count * launch.block_threads)


def run_share(packed: bytes, start: int, stop: int) -> Share:
    """Runs the blocks from `start` up to `stop` of a packed launch."""
    return _share(pickle.loads(packed), start, stop)


def _share(launch: Launch, start: int, stop: int) -> Share:
    """Runs the blocks from `start` up to `stop` in a copy of the launch that is this process's own."""
    image = launch.image
    arena = image.arena
    changes = _all_before(arena) if type(arena) is Arena else _pages_before(arena)
    image.syscalls.output = []
    image.progress = None
    launch.instructions = launch.steps = launch.let_go = 0
    error = None
    with np.errstate(all="ignore"):
        try:
            launch.run_blocks(start, stop)
        except SimError as e:
            error = e
    output = "".join(image.syscalls.output)
    return Share(changes(), output, launch.instructions, launch.steps, launch.let_go, error)


def _all_before(arena: Arena) -> "Callable[[], Changes]":
    """Copies all memory; the function gives the changes since then."""
    used = -(-arena.top // PAGE) * PAGE
    before = arena.data[:used].copy()
    return lambda: Changes.between(before, arena.data[:used])


def _pages_before(arena: Arena) -> "Callable[[], Changes]":
    """Follows stores from now on; the function gives the changes that they made."""
    log = arena.log = PagesBefore(arena)
    return log.changes


class PagesBefore:
    """What pages of a memory held before the first store to them.

    On pages that are not only for kernels, the stores themselves are kept: what this process changes there beside them, such as
    the lists of free memory of its heap, must not reach the process that it was forked off.
    """

    def __init__(self, arena: Arena) -> None:
        data = arena.data
        self._arena: Final = arena
        self._pages: Final = data[: len(data) // PAGE * PAGE].reshape(-1, PAGE)
        self._stores: Final[list[tuple[Arr, int]]] = []
        """Offsets of stores among others, and bytes of each."""
        self._known: Final[dict[int, Arr]] = {}
        """Which pages are kept, for each group of them by its number."""
        self._kept: Final[list[tuple[Arr, Arr]]] = []
        """Numbers of pages, and their bytes."""

    def _group(self, number: int) -> Arr:
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = np.zeros(_GROUP, np.bool_)
        return found

    def note(self, offset: Arr, size: int) -> None:
        """Keeps the pages of these offsets that are not kept."""
        others = self._arena.among_others(offset)
        if others is not None:
            self._stores.append((offset[others], size))
        first, last = int(offset.min()) // PAGE, int(offset.max()) // PAGE
        group, end = first // _GROUP, last // _GROUP
        if group == end and self._group(group)[first % _GROUP : last % _GROUP + 1].all():
            return
        pages = np.unique(offset // PAGE)
        for number in np.unique(pages // _GROUP).tolist():
            known = self._group(number)
            mine = pages[pages // _GROUP == number]
            new = mine[~known[mine % _GROUP]]
            if len(new):
                known[new % _GROUP] = True
                self._kept.append((new, self._pages[new]))

    def changes(self) -> "Changes":
        """What has changed in these pages."""
        pages = np.concatenate([np.zeros(0, np.int64), *(p for p, _ in self._kept)])
        before = np.concatenate([np.zeros((0, PAGE), np.uint8), *(b for _, b in self._kept)])
        order = np.argsort(pages)
        pages = pages[order]
        data = self._pages[pages]
        changed = before[order] != data
        if self._stores:
            others = self._arena.among_others(pages * PAGE)
            stored = np.ones_like(changed) if others is None else np.repeat(~others[:, None], PAGE, 1)
            for offset, size in self._stores:
                for at in (offset + k for k in range(size)):
                    stored[np.searchsorted(pages, at // PAGE), at % PAGE] = True
            changed &= stored
        return Changes(pages, data, np.packbits(changed))


class Changes(NamedTuple):
    """Pages that changed (their numbers), what they hold now, and which bytes of them changed (eight to a byte)."""

    pages: Arr
    data: Arr
    bytes_: Arr

    @classmethod
    def between(cls, before: Arr, after: Arr) -> "Changes":
        """The changes from one array to another of the same length, a multiple of a page."""
        old, new = before.reshape(-1, PAGE), after.reshape(-1, PAGE)
        found = [np.zeros(0, np.int64)]
        for start in range(0, len(old), _STEP):
            part = slice(start, start + _STEP)
            changed = (old[part].view(np.uint64) != new[part].view(np.uint64)).any(axis=1)
            found.append(start + np.flatnonzero(changed))
        pages = np.concatenate(found)
        data = new[pages]
        return cls(pages, data, np.packbits(old[pages] != data))

    def apply(self, memory: Arr) -> None:
        """Makes the changes, and writes no other bytes: threads of the host may be using them."""
        view = memory[: len(memory) // PAGE * PAGE].reshape(-1, PAGE)
        changed = np.unpackbits(self.bytes_).view(np.bool_).reshape(self.data.shape)
        ends = np.flatnonzero(np.diff(self.pages) != 1) + 1
        for start, stop in pairwise([0, *ends.tolist(), len(self.pages)]):
            if start < stop:
                first = int(self.pages[start])
                np.copyto(view[first : first + stop - start], self.data[start:stop], where=changed[start:stop])
