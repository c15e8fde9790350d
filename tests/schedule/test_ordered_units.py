"""Units that work in order: a wait for a later operation stands for those before it, as ptxas 13.0.88 has it."""

import pytest

from orias.ori.ir import Func
from orias.ori.text import parse
from orias.schedule.hazard_check import check_hazards
from orias.schedule.scoreboard import assign
from orias.timing.ctl import NO_BARRIER, read_barrier, wait_mask, write_barrier

HEAD = ".func k sm_90 entry allocated\n"


def assigned(body: str) -> Func:
    fn = parse(HEAD + body)
    assign(fn)
    assert check_hazards(fn) == []
    return fn


def boards(fn: Func, mnemonic: str) -> list[tuple[bool, bool]]:
    """(has a write barrier, has a read barrier) of each operation of a mnemonic."""
    found = [i for i in fn.insts() if i.op.base == mnemonic]
    return [(write_barrier(i.ctl) != NO_BARRIER, read_barrier(i.ctl) != NO_BARRIER) for i in found]


def test_a_later_result_proves_that_earlier_sources_are_read() -> None:
    fn = assigned("""\
b0:
  R2 = LDG.E UR4, R6, URZ, 0x0
  R3 = LDG.E UR4, R8, URZ, 0x0
  R6 = IADD3 R3, 0x1, RZ
  R7 = IADD3 R2, 0x1, RZ
  EXIT
""")
    assert boards(fn, "LDG") == [(True, False), (True, False)]


def test_so_does_a_later_reading_of_sources() -> None:
    fn = assigned("""\
b0:
  STS R0, RZ, 0x0, R2
  STS R0, RZ, 0x4, R3
  R3 = IADD3 R4, 0x1, RZ
  R2 = IADD3 R4, 0x2, RZ
  STS R0, RZ, 0x8, R2
  EXIT
""")
    assert boards(fn, "STS")[:2] == [(False, False), (False, True)]


def test_operations_of_other_kinds_do_not_stand_for_each_other() -> None:
    fn = assigned("""\
b0:
  STS R0, RZ, 0x0, R2
  R3 = LDS R1, RZ, 0x0
  R4 = IADD3 R3, 0x1, RZ
  R2 = IADD3 R4, 0x1, RZ
  STS R0, RZ, 0x4, R2
  EXIT
""")
    assert boards(fn, "STS")[0] == (False, True)


def test_of_results_that_are_used_together_the_last_has_a_scoreboard() -> None:
    fn = assigned("""\
b0:
  R2 = LDS R0, RZ, 0x0
  R4 = LDSM.16.M88.2 R8, RZ, 0x0
  R5 = IADD3 R2, R6, R4
  STS R0, RZ, 0x4, R5
  EXIT
""")
    assert boards(fn, "LDS") == [(False, False)]
    assert boards(fn, "LDSM") == [(True, False)]


@pytest.mark.parametrize("first", ["R2 = LDS R0, RZ, 0x0", "R2 = LDG.E UR4, R6, URZ, 0x0"])
def test_results_of_different_units_and_of_global_memory_come_in_any_order(first: str) -> None:
    fn = assigned(f"""\
b0:
  {first}
  R3 = LDG.E UR4, R6, URZ, 0x4
  R4 = IADD3 R2, R3, RZ
  STS R0, RZ, 0x4, R4
  EXIT
""")
    loads = [i for i in fn.insts() if i.op.base in ("LDS", "LDG")]
    assert all(write_barrier(i.ctl) != NO_BARRIER for i in loads)


def test_what_may_not_issue_proves_nothing() -> None:
    fn = assigned("""\
b0:
  STS R0, RZ, 0x0, R2
  @P0 STS R0, RZ, 0x4, R3
  R3 = IADD3 R4, 0x1, RZ
  R2 = IADD3 R4, 0x2, RZ
  STS R0, RZ, 0x8, R2
  EXIT
""")
    assert boards(fn, "STS")[:2] == [(False, True), (False, True)]


def test_what_is_issued_again_after_the_proof_is_pending() -> None:
    """The second store of this iteration comes after the first; only that of the iteration before is read by then."""
    fn = assigned("""\
b0: -> b1
  R2 = MOV 0x1
b1: -> b1 b2
  STS R0, RZ, 0x8, R3
  STS R0, RZ, 0x0, R2
  R3 = IADD3 R4, 0x1, RZ
  R2 = IADD3 R4, 0x1, RZ
  P0, PT = ISETP.GE.AND R4, 0x4, PT
  @P0 BRA
b2:
  EXIT
""")
    store = [i for i in fn.insts() if i.op.base == "STS"][1]
    after = [i for i in fn.insts() if i.op.base == "IADD3"][1]
    assert read_barrier(store.ctl) != NO_BARRIER
    assert wait_mask(after.ctl) >> read_barrier(store.ctl) & 1


def test_a_proof_reaches_to_the_block_of_the_wait() -> None:
    """In another block others may have been issued since: each store keeps its scoreboard."""
    fn = assigned("""\
b0: -> b1 b2
  STS R0, RZ, 0x0, R2
  STS R0, RZ, 0x4, R3
  @P0 BRA
b1: -> b2
  STS R0, RZ, 0x8, R2
b2:
  R3 = IADD3 R4, 0x1, RZ
  R2 = IADD3 R4, 0x2, RZ
  STS R0, RZ, 0x4, R2
  EXIT
""")
    assert all(read for _, read in boards(fn, "STS")[:3])
