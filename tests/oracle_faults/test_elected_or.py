"""A bulk copy under ``elected || even thread``, sm_90: ptxas 13.0.88 does it once a warp instead of once for each thread that asks.

From -O1 on ptxas takes every condition that an ELECT has a part in for one that a single thread fulfils, the disjunction too: no election, no
loop and no branch is left around UBLKRED.  With a thread's own number among the operands, and at -O0, it writes the loop.  The copies
add to global memory, so their number shows: one for a warp where sixteen threads ask.

The test fails when the fault is gone in a newer release: then the entry goes too.
"""

import pytest

from tests.asynchronous.elect_programs import UNCOUNTED, programs
from tests.asynchronous.harness import Program

PROGRAMS = [p for p in programs() if p.name in UNCOUNTED]


@pytest.mark.parametrize("program", PROGRAMS, ids=repr)
def test_uncounted(program: Program) -> None:
    assert "wrong words" in program.run("ptxas", "sm_90a", 3)
    assert program.run("ptxas", "sm_90a", 0) == ""
    assert program.run("orias", "sm_90a", 3) == ""
