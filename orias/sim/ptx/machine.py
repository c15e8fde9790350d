"""The machine of the PTX interpreter: that of the simulator, with carry flags, stack frames and return addresses a thread."""

from typing import Any

import numpy as np
import numpy.typing as npt

from orias.sim.memory import Arena, Banked
from orias.sim.ops_int import I64, U32
from orias.sim.ptx.choice import Choice
from orias.sim.state import Active, Machine, Sel

Arr = npt.NDArray[Any]
FIRST_ROW = 256
"""First row of ``R`` that holds PTX registers."""
FIRST_PRED = 8
"""The same for ``P``."""


class PtxMachine(Machine):
    """State of a batch of blocks."""

    def __init__(
        self,
        threads: int,
        words: int,
        preds: int,
        present: Arr,
        block_of: Arr,
        arena: Arena,
        shared: Banked,
        local: Banked,
        choice: Choice,
    ) -> None:
        super().__init__(threads, 24, present, block_of, arena, shared, local)
        self.choice = choice
        self.sum_error = (choice.approx > 0) - (choice.approx < 0)
        self.R.extend(np.full((words, threads), choice.poison, U32))
        self.P += [np.full(threads, bool(choice.poison & 1)) for _ in range(preds)]
        self.cc = np.full(threads, bool(choice.poison & 1))
        self.frame = np.zeros(threads, I64)
        """Address in the local window of the lowest byte of the current function's frame."""
        self.dynamic = np.zeros(threads, I64)
        """Lowest free address of local memory for alloca, which grows towards the frames."""
        self.dynamic_at: list[Arr] = []
        """The same at the call at each depth."""
        self.depth = np.zeros(threads, I64)
        self.returns: list[Arr] = []
        """Where each thread goes on after the call at each depth."""
        self.saved: list[dict[int, list[Arr]]] = []
        """Rows of recursive functions at each depth, by unit."""

    def levels(self, sel: Sel) -> list[int]:
        """Depths that occur among some threads."""
        return [int(d) for d in np.unique(self.depth[sel])]


def ptx(m: Machine) -> PtxMachine:
    """The machine as the interpreter's."""
    assert isinstance(m, PtxMachine)
    return m


def at_depth(m: PtxMachine, a: Active, level: int) -> Active:
    """The threads of a set that stand at a depth (at least one does)."""
    here = m.depth[a.sel] == level
    return a if here.all() else a.subset(here)
