"""Runs the blocks of a launch in several processes, and puts their changes of memory together.

Each share of the blocks has a copy of the launch with its memory, and returns the bytes that it changed.  A forked process has
such a copy without anyone making one.  So blocks do not see each other's stores, and only kernels whose code cannot wait for or
count other blocks may run so: :func:`why_together` decides.  Changes are applied in the order of blocks.
"""

import multiprocessing
import pickle
import threading
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orias.isa.op import ANYWHERE, F_ATOMIC, GLOBAL, Op
from orias.sim.core.banked_memory import PAGE
from orias.sim.core.sim_errors import SimError, StepLimit

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from orias.sim.core.image import Image
    from orias.sim.core.launch import Launch

Arr = npt.NDArray[Any]

LARGE: Final = 1 << 14
"""Threads from which on a launch is worth processes."""

_ATOMICS: Final = ("ATOM", "ATOMG", "RED", "REDG")
_OTHERS: Final = {
    "UBLKRED": "reductions in global memory", "UTMAREDG": "reductions in global memory", "REDAS": "reductions in other blocks",
    "SUST": "stores to surfaces", "SURED": "stores to surfaces", "SUATOM": "stores to surfaces",
    "UGETNEXTWORKID": "takes work of other blocks", "LDGMC": "multicast memory",
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


def why_together(image: "Image") -> str:
    """Why the blocks of the kernels of an image must run in one process; empty if they need not."""
    for name in ("malloc", "free"):
        if any(s.name == name and s.section == 0 for s in image.reader.elf.symbols):
            return f"{name} in the kernel"
    for index in range(image.code_size() >> 4):
        d = image.decoded(index)
        reason = _reason(d.op) if d is not None else ""
        if reason:
            return reason
    return ""


class _Part(Protocol):
    """A share that runs: a future, or a :class:`_Child`."""

    def result(self) -> Share:
        """Waits for the share."""

    def cancel(self) -> bool:
        """Ends it if it has not begun; a child in any case."""


class _Child:
    """A forked process that runs a share: it has the launch and its memory without copies of them."""

    def __init__(self, launch: "Launch", start: int, stop: int) -> None:
        context = multiprocessing.get_context("fork")
        self._end, other = context.Pipe(duplex=False)
        self._process = context.Process(target=_send_share, args=(launch, start, stop, other), daemon=True)
        self._process.start()
        other.close()

    def result(self) -> Share:
        """Waits for the share."""
        try:
            share: Share = self._end.recv()
        except EOFError:
            raise BrokenProcessPool("a process of the launch ended without a result") from None
        return share

    def cancel(self) -> bool:
        """Ends the process."""
        self._process.terminate()
        self._process.join()
        self._end.close()
        return True


def _send_share(launch: "Launch", start: int, stop: int, end: "Connection") -> None:
    end.send(_share(launch, start, stop))
    end.close()


def run_in_processes(launch: "Launch", count: int) -> None:
    """Runs all blocks in `count` processes, of which this one is the first where the system can fork it."""
    if "fork" not in multiprocessing.get_all_start_methods() or threading.active_count() > 1:
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
            run_apart(launch, pool, count)
        return
    bounds = _bounds(launch, count)
    parts: list[_Part] = [_Child(launch, start, stop) for start, stop in pairwise(bounds[1:])]
    try:
        with np.errstate(all="ignore"):
            launch.run_blocks(bounds[0], bounds[1])
        _put_together(launch, parts, bounds[2:])
    finally:
        for part in parts:
            part.cancel()


def run_apart(launch: "Launch", executor: Executor, shares: int) -> None:
    """Runs all blocks in `shares` parts of an executor; what each did is added to the launch as if they had run in turn."""
    bounds = _bounds(launch, shares)
    packed = pickle.dumps(launch, pickle.HIGHEST_PROTOCOL)
    parts: list[_Part] = [executor.submit(run_share, packed, start, stop) for start, stop in pairwise(bounds)]
    try:
        _put_together(launch, parts, bounds[1:])
    finally:
        for part in parts:
            part.cancel()


def _bounds(launch: "Launch", shares: int) -> list[int]:
    """The first block of each share, and the number of blocks."""
    ranks = launch.shape.cluster[0] * launch.shape.cluster[1] * launch.shape.cluster[2]
    clusters = launch.block_count // ranks
    shares = min(shares, clusters)
    return [clusters * k // shares * ranks for k in range(shares + 1)]


def _put_together(launch: "Launch", parts: list[_Part], ends: list[int]) -> None:
    """Adds what shares did to the launch, in turn; `ends`: the block after each."""
    image = launch.image
    for part, end in zip(parts, ends, strict=True):
        share = part.result()
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


def _share(launch: "Launch", start: int, stop: int) -> Share:
    """Runs the blocks from `start` up to `stop` in a copy of the launch that is this process's own."""
    image = launch.image
    used = -(-image.arena.top // PAGE) * PAGE
    before = image.arena.data[:used].copy()
    image.syscalls.output = []
    image.progress = None
    error = None
    with np.errstate(all="ignore"):
        try:
            launch.run_blocks(start, stop)
        except SimError as e:
            error = e
    output = "".join(image.syscalls.output)
    changes = Changes.between(before, image.arena.data[:used])
    return Share(changes, output, launch.instructions, launch.steps, launch.let_go, error)


class Changes(NamedTuple):
    """Pages that changed (their numbers), what they hold now, and which bytes of them changed (eight to a byte)."""

    pages: Arr
    data: Arr
    bytes_: Arr

    @classmethod
    def between(cls, before: Arr, after: Arr) -> "Changes":
        """The changes from one array to another of the same length, a multiple of a page."""
        old, new = before.reshape(-1, PAGE), after.reshape(-1, PAGE)
        pages = np.flatnonzero((old.view(np.uint64) != new.view(np.uint64)).any(axis=1))
        data = new[pages]
        return cls(pages, data, np.packbits(old[pages] != data))

    def apply(self, memory: Arr) -> None:
        """Makes the changes."""
        view = memory[: len(memory) // PAGE * PAGE].reshape(-1, PAGE)
        now = view[self.pages]
        changed = np.unpackbits(self.bytes_).view(np.bool_).reshape(now.shape)
        np.copyto(now, self.data, where=changed)
        view[self.pages] = now
