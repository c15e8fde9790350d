"""Records what the warps of a launch execute in the simulator, with the sectors and conflicts of their addresses."""

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from orias.check.code import ENDS, JUMPS, RETURNS
from orias.isa.op import F_JUMP, GLOBAL, LOCAL, SHARED, Op
from orias.isa.operand import PT
from orias.isa.operations import access_bytes
from orias.perf.access_cost import conflicts, global_cost, sectors_of
from orias.perf.kernel_steps import KernelCode
from orias.sim.core.image import DEFAULT_STEPS, Image
from orias.sim.core.site import Getter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.sass.memory_places import address32, address64
from orias.timing.play import visit

Arr = npt.NDArray[Any]
_LONGEST_RETRY: Final = 16
"""Instructions of a loop that only repeats a TRYWAIT."""
_CACHED: Final = ("LDG", "LD")
"""Loads whose data stays in the first cache, unless they are strong."""


class Sample(NamedTuple):
    """What a recorder of a part of the blocks writes down.

    ``wanted``: whether to record each warp of the batch.  ``room``: so many instructions are written down, the others are
    counted in ``left_out``.  ``warps`` of a block: a sector that a block loads again comes from the first cache and is not counted.
    """

    wanted: Arr
    room: int
    warps: int


@final
class Recorder:
    """A :class:`orias.sim.core.engine.Timing` that writes down each instruction of each warp of a batch.

    ``traces``: for each warp, (index of the instruction, waves, sectors) in order of execution.  ``splits``: for each of `branches`, how
    often a warp came to it and how often its guard held for a part of the threads that came there.  `sample`: what to
    record, None for all.
    """

    def __init__(
        self,
        m: Machine,
        image: Image,
        first: int,
        branches: frozenset[int] = frozenset(),
        sample: Sample | None = None,
    ) -> None:
        self.m: Final[Machine] = m
        self.image: Final[Image] = image
        self.first: Final[int] = first
        """Index of the kernel's first instruction among those of the module."""
        self.traces: Final[list[list[tuple[int, int, int]]]] = [[] for _ in range(m.warps)]
        self.splits: Final[dict[int, tuple[int, int]]] = dict.fromkeys(branches, (0, 0))
        self.left_out: int = 0
        self._sample: Final = sample
        self._room: int = sys.maxsize if sample is None else sample.room
        self._loaded: Final[dict[int, set[int]]] = {}
        """The sectors that a block has loaded, by number of the block in the batch."""
        self._warps: list[int] = []
        """The warps that are recorded, of those that the instruction runs in."""
        self._whole: Active | None = None
        self._part: Active | None = None
        """The threads of recorded warps among those of `_whole`."""
        self._pc: int = 0
        self._costs: dict[int, tuple[int, int]] = {}
        self._addresses: dict[int, tuple[Op, Getter] | None] = {}

    def issue(self, pc: int, cur: Active) -> None:
        """Notes the instruction."""
        self._pc = pc
        self._costs = {}
        warps = cur.warps
        self._warps = (warps if self._sample is None else warps[self._sample.wanted[warps]]).tolist()
        if self._room < len(self._warps):
            self._room = 0
            self.left_out += len(self._warps)
            self._warps = []
        self._room -= len(self._warps)

    def read(self, act: Active) -> None:
        """Works out the cost of an access, before its registers change."""
        pc = self._pc
        if not self._warps:
            return
        if pc not in self._addresses:
            self._addresses[pc] = self._address(pc)
        found = self._addresses[pc]
        if found is None:
            return
        op, get = found
        if self._sample is not None:
            if act is not self._whole:
                self._whole = act
                keep = self._sample.wanted[act.warp_of]
                self._part = act.subset(keep) if keep.any() else None
            if self._part is None:
                return
            act = self._part
        addresses = get(self.m, act).astype(np.int64)
        if len(addresses) != act.n:
            addresses = np.broadcast_to(addresses, (act.n,))
        size = access_bytes(op.mods)
        starts = np.flatnonzero(np.diff(act.warp_of, prepend=-1))
        ends = np.append(starts[1:], act.n)
        shared = op.space == SHARED
        cached = self._sample is not None and op.base in _CACHED and not op.has("STRONG")
        for w, a, b in zip(act.warps, starts, ends, strict=True):
            part = addresses[a:b].tolist()
            if cached:
                self._costs[int(w)] = self._first_touch(int(w), part, size)
            else:
                self._costs[int(w)] = (conflicts(part, size), 0) if shared else global_cost(part, size)

    def _first_touch(self, warp: int, addresses: list[int], size: int) -> tuple[int, int]:
        """The cost of a load, without the sectors that its block has loaded before."""
        assert self._sample is not None
        loaded = self._loaded.setdefault(warp // self._sample.warps, set())
        before = len(loaded)
        loaded.update(sectors_of(addresses, size))
        return global_cost(addresses, size)[0], len(loaded) - before

    def done(self, cur: Active, act: Active | None) -> None:
        """Writes the instruction down for each warp."""
        index = self._pc - self.first
        costs = self._costs
        for w in self._warps:
            waves, sectors = costs.get(w, (1, 0))
            self.traces[w].append((index, waves, sectors))
        if index in self.splits:
            came, split = self.splits[index]
            self.splits[index] = (came + len(cur.warps), split + _split(cur, act))

    def _address(self, pc: int) -> tuple[Op, Getter] | None:
        d = self.image.decoded(pc)
        if d is None or len(d.op.addr) != 1 or d.op.means:
            return None
        op = d.op
        site = Site(op, d.dst, d.src, 0, False)
        at = op.addr[0]
        if op.space in (SHARED, LOCAL):
            return op, address32(site, at)
        return (op, address64(site, at)) if op.space & GLOBAL else None


def _split(cur: Active, act: Active | None) -> int:
    """Warps of which a part of the threads goes on with an instruction."""
    if act is None or act.n == cur.n:
        return 0
    all_of, some_of = np.bincount(cur.warp_of), np.bincount(act.warp_of, minlength=1)
    some_of = np.pad(some_of, (0, len(all_of) - len(some_of)))
    return int(np.count_nonzero((some_of > 0) & (some_of < all_of)))


@final
class Run:
    """The recorded blocks of a launch: for each, the trace of each warp, as elements of :func:`orias.timing.play.visit`."""

    __slots__ = ("blocks", "code", "shared", "splits", "threads")

    def __init__(self, code: KernelCode, threads: int, shared: int) -> None:
        self.code: Final[KernelCode] = code
        self.threads: Final[int] = threads
        self.shared: Final[int] = shared
        """Bytes of shared memory of a block: static, reserved and dynamic."""
        self.blocks: Final[list[list[list[int]]]] = []
        self.splits: Final[dict[int, tuple[int, int]]] = {}
        """Guarded branch or EXIT -> how often a warp of the launch came to it, and how often it split there."""


def record(
    image: Image,
    code: KernelCode,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any],
    shared: int = 0,
    max_steps: int = DEFAULT_STEPS,
    most_blocks: int = 64,
) -> Run:
    """Launches a kernel and records its first blocks; raises what :meth:`orias.sim.core.image.Image.launch` raises."""
    threads = int(np.prod(block))
    out = Run(code, threads, code.shared + shared)
    recorders: list[Recorder] = []
    first = next(at >> 4 for at, name in image.code_places() if name == code.name)
    branches = frozenset(k for k, n in enumerate(code.nodes) if n.flow in (JUMPS, RETURNS, ENDS) and n.guard != PT)

    def attach(m: Machine) -> Recorder:
        recorder = Recorder(m, image, first, branches)
        recorders.append(recorder)
        return recorder

    image.launch(code.name, grid, block, args, shared, max_steps, timing=attach)
    warps = (threads + 31) // 32
    for recorder in recorders:
        for index, (came, split) in recorder.splits.items():
            before = out.splits.get(index, (0, 0))
            out.splits[index] = (before[0] + came, before[1] + split)
        for start in range(0, len(recorder.traces), warps):
            if len(out.blocks) < most_blocks:
                out.blocks.append([visits(t, code) for t in recorder.traces[start : start + warps]])
    return out


@lru_cache(maxsize=1)
def _retries(code: KernelCode) -> dict[int, int]:
    """The instructions of each loop that does nothing but repeat a TRYWAIT -> the TRYWAIT."""
    out: dict[int, int] = {}
    for branch in code.nodes:
        if not branch.d.op.flags & F_JUMP or len(branch.targets) != 1:
            continue
        loop = range(branch.targets[0], branch.index + 1)
        if not 0 < len(loop) <= _LONGEST_RETRY:
            continue
        polls = [k for k in loop if code.nodes[k].d.op.has("TRYWAIT")]
        others = [code.nodes[k] for k in loop if k not in polls and k != branch.index]
        if len(polls) == 1 and all(n.fixed and not n.d.op.flags & F_JUMP for n in others):
            out.update(dict.fromkeys(loop, polls[0]))
    return out


def without_polls(trace: list[tuple[int, int, int]], code: KernelCode) -> list[tuple[int, int, int]]:
    """The trace without failed polls: of a TRYWAIT that is repeated with only branches between, or in a loop of its own, the last one.

    A GPU suspends the warp at the first; how often one fails in the simulator depends on the turns that its warps take.
    """
    polls = {k for k, n in enumerate(code.nodes) if n.d.op.has("TRYWAIT")}
    if not polls:
        return trace
    branches = {k for k, n in enumerate(code.nodes) if n.d.op.flags & F_JUMP}
    retries = _retries(code)
    out: list[tuple[int, int, int]] = []
    last: dict[int, int] = {}
    """Index of a poll -> where it is in `out`, since the last instruction of another kind."""
    for step in trace:
        index = step[0]
        if index in polls:
            at = last.get(index)
            if at is not None:
                del out[at:]
                last = {k: n for k, n in last.items() if n < at}
            last[index] = len(out)
        elif index not in branches:
            poll = retries.get(index, -1)
            last = {poll: last[poll]} if poll in last else {}
        out.append(step)
    return out


def visits(trace: list[tuple[int, int, int]], code: KernelCode) -> list[int]:
    """The trace of one warp for the model, without failed polls and instructions of other sections (functions called through pointers)."""
    out: list[int] = []
    count = len(code.nodes)
    trace = without_polls(trace, code)
    last = len(trace) - 1
    for k, (index, waves, sectors) in enumerate(trace):
        if 0 <= index < count:
            taken = k < last and trace[k + 1][0] != index + 1
            out.append(visit(index, taken, waves, sectors))
    return out
