"""Time of a function before allocation, as the scheduler sees it: which orders are worth finishing."""

import math
from typing import Final, final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import F_PSEUDO
from orias.ori.ir import Block, Func
from orias.target.register_steps import SUB_PARTITIONS, registers_for
from orias.timing.latency import Latency, latency

_DEEPEST: Final = 40
"""Loops within more loops than this are taken to run as often as those: a power of any depth is more than a float holds."""


@final
class EstimatedTime:
    """The measure of :func:`orias.pipeline.modelled_time.modelled_time`, from the cycles of blocks in some order before allocation.

    It knows nothing of the moves and the waits that allocation adds, and of memory only the assumed latencies.
    """

    __slots__ = ("busy", "fn", "places", "weights")

    def __init__(self, fn: Func) -> None:
        find_loops(fn, dominators(fn))
        lat = latency(fn.target.latency_class)
        self.fn: Final[Func] = fn
        self.places: Final[list[int]] = []
        """For each block the place of its loop depth in ``weights`` and ``busy``."""
        self.weights: Final[list[float]] = []
        """For each loop depth how often its blocks run."""
        self.busy: Final[list[int]] = []
        """For each loop depth the cycles of the busiest pipes of its blocks."""
        at: dict[int, int] = {}
        for b in fn.blocks:
            place = at.setdefault(b.depth, len(at))
            if place == len(self.weights):
                self.weights.append(loop_weight(fn, b.depth))
                self.busy.append(0)
            self.places.append(place)
            self.busy[place] += _busiest(b, lat)

    def of(self, cycles: list[int], registers: int) -> float:
        """The time if the blocks take these cycles and a thread so many registers."""
        warps = warps_with(self.fn, registers)
        sums = [0] * len(self.weights)
        for place, count in zip(self.places, cycles, strict=True):
            sums[place] += count
        alone = full = 0.0
        for weight, one, busy in zip(self.weights, sums, self.busy, strict=True):
            alone += weight * one
            full += weight * beside_others(one, busy, warps)
        return both(alone, full)


def loop_weight(fn: Func, depth: int) -> float:
    """How often a block of a loop depth is taken to run."""
    return float(fn.knobs.sched_estimated_loop_iterations) ** min(depth, _DEEPEST)


def warps_with(fn: Func, registers: int) -> int:
    """Warps of a sub-partition that a register count allows, where blocks fit as a whole."""
    most = next((w for w in range(fn.warps(), 1, -1) if registers_for(w) >= registers), 1)
    if fn.block_warps == 1:
        return most
    blocks = max(1, most * SUB_PARTITIONS // fn.block_warps)
    return -(-blocks * fn.block_warps // SUB_PARTITIONS)


def beside_others(one: float, busiest: float, warps: int) -> float:
    """The time of a warp on a full SM, from its time alone, that of the busiest unit, and the number of warps.

    The time in which the units work and the latency that the warps share add up as squares: warps that wait at the same
    time hide less than all of it.
    """
    return math.hypot(busiest, one / warps)


def both(alone: float, full: float) -> float:
    """The measure of a function's time: a geometric mean of the two cases in which the full SM counts three times.

    Most launches fill the GPU (``docs/gpu-runs.md``), and memory that all of its SMs use is slower than the model's.
    """
    return float(max(alone, 1.0) ** 0.25 * max(full, 1.0) ** 0.75)


def _busiest(b: Block, lat: Latency) -> int:
    """The cycles of the busiest pipe of a block, or of the issue of its instructions."""
    busy: dict[str, int] = {}
    issued = 0
    for inst in b.insts:
        if not inst.op.flags & F_PSEUDO:
            key = lat.pipe_key(inst.op)
            busy[key] = busy.get(key, 0) + lat.interval(inst.op)
            issued += 1
    return max(issued, max(busy.values(), default=0))
