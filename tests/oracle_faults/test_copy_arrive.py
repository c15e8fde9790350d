"""cp.async.mbarrier.arrive without .noinc, each thread with an object of its own (sm_80): ptxas 13.0.88 is wrong.

The instruction makes its object expect one arrival more.  ptxas counts the active threads with a vote and lets one of them add the whole
count to the object at *its* address (``VOTE.ALL; POPC; @leader ATOMS.ADD.S32 [own address + 4], -count``), as if all addresses were
the same; the loop around ARRIVES after it does serve every address.  So the leader's object expects 31 arrivals too many and the others one
too few: in the program the leader waits for ever.  We add one at each thread's address.

The test fails when the fault is gone in a newer release: then the entry goes too.
"""

import pytest

from orias.sim import StepLimit
from tests.asynchronous.barrier_programs import copies

PROGRAM = next(p for p in copies() if p.name == "cp.async.mbarrier.arrive of each")
PROGRAM.max_steps = 10_000


def test_theirs_waits_for_ever() -> None:
    with pytest.raises(StepLimit):
        PROGRAM.run("ptxas", "sm_80", 3)


def test_ours() -> None:
    assert PROGRAM.run("orias", "sm_80", 3) == ""
