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


def grid_barrier(m: Machine, name: str, who: Active, whole: bool) -> Arr | None:
    """Executes a function; returns which of the threads call it again, None for none of them.

    `whole`: the machine has all blocks of its grid.
    """
    if name == GRID_HANDLE:
        m.R[4][who.sel] = _GRID if whole else 0
        m.R[5][who.sel] = 0
        return None
    if m.at_grid is None:
        m.at_grid = np.zeros((2, len(m.alive)), bool)
    waiting, free = m.at_grid
    index = who.index
    waiting[index] |= ~free[index]
    if (waiting | ~m.alive).all():
        free |= waiting
        waiting[:] = False
        if m.copy_watch is not None:
            m.copy_watch.grid_met()
    going = free[index]
    free[index] = False
    m.R[4][index[going]] = 0
    return None if going.all() else ~going
