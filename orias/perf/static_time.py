"""A measure of the time of a kernel from its code alone, without a launch."""

from typing import Final, NamedTuple

from orias.perf.kernel_steps import KernelCode
from orias.perf.loops import loops
from orias.perf.measure import loop_cost
from orias.target.register_steps import SUB_PARTITIONS
from orias.timing.machine_numbers import machine
from orias.timing.play import Player, visit


class StaticTime(NamedTuple):
    """Cycles of one warp alone, with near and far memory, and cycles that a sub-core of a full SM spends on one warp."""

    one: float
    one_far: float
    full: float


def static_time(code: KernelCode, warps: int, trips: int) -> StaticTime:
    """The time of all code of a kernel once, where a loop takes `trips` turns for each turn of the one around it.

    `warps`: of a full SM.  Only ratios of such times mean something: nobody knows which code runs.
    """
    inside: set[int] = set()
    one = far = full = 0.0
    for loop in loops(code.nodes):
        inside.update(loop.body)
        c = loop_cost(code, loop, warps)
        weight = float(trips**loop.depth)
        one += weight * c.one
        far += weight * c.one_far
        full += weight * c.full
    rest = [n.index for n in code.nodes if n.index not in inside]
    end = next((k for k, i in enumerate(rest) if code.nodes[i].d.op.base == "NOP"), len(rest))
    rest = rest[:end]
    if rest:
        m = machine(code.profile.sm)
        path = [visit(i, k + 1 < len(rest) and rest[k + 1] != i + 1, 1, 4) for k, i in enumerate(rest)]
        one += Player(m, code.steps, False).play([[path]], 1).cycles
        far += Player(m, code.steps, True).play([[path]], 1).cycles
        many = Player(m, code.steps, False).play([[path] * warps], 1).cycles
        full += many * SUB_PARTITIONS / max(warps, SUB_PARTITIONS)
    return StaticTime(one, far, full)


TRIPS: Final = 10
"""Turns of a loop where nothing else is known."""
