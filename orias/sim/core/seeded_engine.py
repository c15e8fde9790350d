"""An engine that picks warps and divergent paths by a seed instead of by program counter.

Threads of one warp at one instruction go on together, as on hardware; but which warp runs, and which side of a branch, is
open wherever there is a choice, so that code that lacks a barrier or a meeting of threads gives other results.
"""

import random
from collections.abc import Callable
from typing import Final

import numpy as np

from orias.sim.core.engine import Engine, Plan
from orias.sim.core.state import Active, Machine

_TURN: Final = 300
"""Picks for which a path may be preferred to others; after them each gets its turn."""


class SeededEngine(Engine):
    """Runs some warps of a group chosen by a seed as far as they go without a branch or a wait."""

    def __init__(
        self,
        m: Machine,
        plans: list[Plan | None],
        compile_: Callable[[int], Plan],
        max_steps: int,
        blocks: int,
        seed: int = 1,
    ) -> None:
        super().__init__(m, plans, compile_, max_steps, blocks)
        self._random: Final = random.Random(seed)
        self._preferred = -1
        self._left = 0

    def _pick(self) -> tuple[int, Active, bool]:
        if self.apart or not self.groups:
            return super()._pick()
        self.polled = False
        pc = self._choose()
        group = self.groups.pop(pc)
        self.since.pop(pc, None)
        warps = group.warps
        if len(warps) > 1:
            some = self._random.choice((1, 1, len(warps) // 2, len(warps)))
            chosen = np.array(self._random.sample(warps.tolist(), max(1, some)))
            mine = np.isin(group.warp_of, chosen)
            if not mine.all():
                self.add(pc, Active(group.index[~mine]))
                group = Active(group.index[mine])
        return pc, group, False

    def _choose(self) -> int:
        """A group: mostly the one of highest or lowest address for a while, so that one path runs far ahead of another."""
        pcs = sorted(self.groups)
        if self._left <= 0:
            self._left = self._random.randint(1, _TURN)
            self._preferred = self._random.choice((0, -1, 1))
        self._left -= 1
        if self._preferred == 1:
            return self._random.choice(pcs)
        return pcs[self._preferred]
