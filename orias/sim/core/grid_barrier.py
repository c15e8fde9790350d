"""The barrier of a grid that the device runtime asks the system for: ``cudaCGSynchronize`` of linked programs.

Threads of a cooperative launch, whose blocks run together, wait until all threads that have not ended have come.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.state import Active, Machine
from orias.target.driver import GRID_HANDLE, GRID_SYNC

Arr = npt.NDArray[Any]
FUNCTIONS: Final = (GRID_HANDLE, GRID_SYNC)
_GRID: Final = 1
"""The handle of the grid: any but 0, with which the runtime ends the synchronisation with an error."""


class GridBarrier:
    """The barrier of the machine that asked last."""

    def __init__(self) -> None:
        self.whole = False
        """Whether the machine has all blocks of its grid."""
        self._machine: Machine | None = None
        self._waiting: Arr = np.zeros(0, bool)
        self._free: Arr = np.zeros(0, bool)
        """Threads that have come, and threads for which all have come."""

    def __call__(self, m: Machine, name: str, who: Active) -> Arr | None:
        """Executes a function; returns which of the threads call it again, None for none of them."""
        if name == GRID_HANDLE:
            m.R[4][who.sel] = _GRID if self.whole else 0
            m.R[5][who.sel] = 0
            return None
        if m is not self._machine:
            self._machine = m
            self._waiting, self._free = np.zeros(len(m.alive), bool), np.zeros(len(m.alive), bool)
        index = who.index
        self._waiting[index] |= ~self._free[index]
        if (self._waiting | ~m.alive).all():
            self._free |= self._waiting
            self._waiting[:] = False
            if m.copy_watch is not None:
                m.copy_watch.grid_met()
        free = self._free[index]
        self._free[index] = False
        m.R[4][index[free]] = 0
        return None if free.all() else ~free
