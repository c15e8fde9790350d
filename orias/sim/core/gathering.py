"""Operations that threads of several instructions run together: they wait until all threads of a mask have come."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from orias.sim.core.engine import Engine, Flow
from orias.sim.core.site import Exec
from orias.sim.core.state import Active, Machine


class Gathering:
    """One such operation."""

    __slots__ = ("number", "start")

    def __init__(self, number: int) -> None:
        self.number: int = number
        self.start: int = -1
        """Index of its first plan, once it has one."""


def gather(operation: Gathering, bring: Exec, mask: Callable[[Machine, Active], npt.NDArray[Any]]) -> Flow:
    """What an instruction of an operation does: its threads bring their operands and wait for those of the mask."""

    def wait(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        bring(e.m, a)
        if rest is not None:
            e.add(pc + 1, rest)
        members = np.broadcast_to(mask(e.m, a), (a.n,))
        go_on = e.wait_collective(a, members, pc + 1, None, operation.start - 1, operation.number)
        if rest is None or go_on < 0:
            return go_on
        e.add(go_on, a)
        return -1

    return wait
