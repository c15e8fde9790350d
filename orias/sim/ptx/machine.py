"""The machine of the PTX interpreter: the simulator's, with carry flag, frame and return addresses per thread."""

from typing import Any

import numpy as np
import numpy.typing as npt

from orias.sim.core.banked_memory import Arena, Banked
from orias.sim.core.state import Active, Machine, Sel
from orias.sim.math.ops_int import I64, U32
from orias.sim.ptx.choice import Choice

Arr = npt.NDArray[Any]
FIRST_ROW = 256
"""First row of ``R`` that holds PTX registers."""
FIRST_PRED = 8
"""First row of ``P`` that holds PTX predicates."""


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
        """Lowest free address of local memory for alloca, which grows up towards the frames."""
        self.dynamic_at: list[Arr] = []
        """The value of ``dynamic`` at the call at each depth."""
        self.depth = np.zeros(threads, I64)
        self.returns: list[Arr] = []
        """Plan index at which each thread resumes after the call at each depth."""
        self.saved: list[dict[int, list[Arr]]] = []
        """Saved rows of recursive functions at each depth, by unit."""

    def levels(self, sel: Sel) -> list[int]:
        """The call depths of some threads, without duplicates."""
        return [int(d) for d in np.unique(self.depth[sel])]


def ptx(m: Machine) -> PtxMachine:
    """The machine, with the interpreter's type."""
    assert isinstance(m, PtxMachine)
    return m


def at_depth(m: PtxMachine, a: Active, level: int) -> Active:
    """The threads of a set at a call depth (at least one is)."""
    here = m.depth[a.sel] == level
    return a if here.all() else a.subset(here)
