"""An engine that runs one thread at a time; with this schedule, races between instructions change results."""

from collections.abc import Callable
from typing import Final

import numpy as np

from orias.sim.core.engine import Engine, Plan
from orias.sim.core.state import Active, Machine

_TURN: Final = 4000
"""Picks after which a thread that has not ended is preempted."""
_POLLS: Final = 64
"""The same for picks that poll memory: other threads must run before what a thread waits for can change."""


class SerialEngine(Engine):
    """Prefers the thread with the highest number until it waits, ends, or is preempted."""

    together = True

    def __init__(
        self, m: Machine, plans: list[Plan | None], compile_: Callable[[int], Plan], max_steps: int, blocks: int
    ) -> None:
        super().__init__(m, plans, compile_, max_steps, blocks)
        self._thread = -1
        self._left = 0
        self._polls = 0

    def _pick(self) -> tuple[int, Active, bool]:
        if self.apart or not self.groups:
            return super()._pick()
        pc, thread = self._choose()
        group = self.groups.pop(pc)
        self.since.pop(pc, None)
        rest = group.index[group.index != thread]
        if len(rest):
            self.add(pc, Active(rest))
        return pc, Active(np.array([thread])), False

    def _choose(self) -> tuple[int, int]:
        self._left -= 1
        if self.polled:
            self.polled = False
            self._polls += 1
            if self._polls > _POLLS:
                self._left = 0
        if self._left > 0:
            for pc, group in self.groups.items():
                if self._thread in group.index:
                    return pc, self._thread
        last = self._thread
        found = [(int(i), pc) for pc, group in self.groups.items() for i in group.index]
        before = [x for x in found if x[0] < last] if self._left <= 0 and last >= 0 else []
        thread, pc = max(before or found)
        self._thread, self._left, self._polls = thread, _TURN, 0
        return pc, thread
