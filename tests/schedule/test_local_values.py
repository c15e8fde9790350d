"""Values that go from one register to another after allocation."""

import random

import pytest

from orias.ori.ir import Func
from orias.ori.text import dump, parse
from orias.regalloc.register_allocation import allocate_registers
from orias.schedule.local_values import LocalValues, Registers
from tests.regalloc.interp import Machine, widths_of
from tests.regalloc.random_ori import random_function

HEAD = ".func k sm_80 entry allocated\n"


def values(text: str) -> tuple[Func, LocalValues]:
    fn = parse(HEAD + text)
    return fn, LocalValues(fn, fn.blocks[0], Registers(fn), set())


def lines(fn: Func) -> list[str]:
    return [line.strip().split(" ;")[0] for line in dump(fn).splitlines()[2:]]


SUM = """\
b0:
  R4 = LDG.E R2, URZ, 0x0
  R5 = IADD3 R4, 0x1, RZ
  R6 = IADD3 R4, R5, RZ
  STG.E -, R2, URZ, 0x0, R6
  R7 = MOV 0x1
  EXIT
"""


def test_a_value_goes_to_a_free_register() -> None:
    fn, local = values(SUM)
    (v,) = local.of[4]
    moved = local.exchanged(v, 7)
    assert moved == [v]
    local.exchange(moved, 7)
    assert lines(fn)[:3] == ["R7 = LDG.E R2, URZ, 0x0", "R5 = IADD3 R7, 0x1, RZ", "R6 = IADD3 R7, R5, RZ"]


def test_two_values_change_places() -> None:
    fn, local = values(SUM)
    (v,) = local.of[4]
    moved = local.exchanged(v, 5)
    assert sorted(x.register for x in moved) == [4, 5]
    local.exchange(moved, 5)
    assert lines(fn)[:3] == ["R5 = LDG.E R2, URZ, 0x0", "R4 = IADD3 R5, 0x1, RZ", "R6 = IADD3 R5, R4, RZ"]


def test_a_value_in_a_chain_goes_alone() -> None:
    """The register is read and written by one instruction: only what it held before moves."""
    fn, local = values("b0:\n  R4 = MOV 0x1\n  R4 = IADD3 R4, 0x2, RZ\n  R5 = IADD3 R4, 0x3, RZ\n  EXIT\n")
    local.exchange(local.exchanged(local.of[4][0], 5), 5)
    assert lines(fn)[:3] == ["R5 = MOV 0x1", "R4 = IADD3 R5, 0x2, RZ", "R5 = IADD3 R4, 0x3, RZ"]


@pytest.mark.parametrize(
    ("text", "register"),
    [
        ("b0: -> b1\n  R4 = MOV 0x1\n  R5 = MOV 0x2\nb1:\n  R6 = IADD3 R4, R5, RZ\n  EXIT\n", 4),
        ("b0:\n  R5 = IADD3 R4, R6, RZ\n  R4 = MOV 0x1\n  R6 = MOV 0x1\n  EXIT\n", 4),
        ("b0:\n  R4 = MOV 0x1\n  R5 = MOV 0x1\n  R6 = MOV R4\n  R6 = LDG.E R4, URZ, 0x0\n  EXIT\n", 4),
        ("b0:\n  R4 = IMAD.WIDE R6, 0x4, R8\n  R6 = MOV R4\n  R7 = MOV R5\n  EXIT\n", 4),
    ],
    ids=["read in another block", "written in another block", "address of 64 bits", "result of 64 bits"],
)
def test_values_that_stay(text: str, register: int) -> None:
    _, local = values(text)
    assert local.exchanged(local.of[register][0], 6 if register != 6 else 7) == []


def test_guarded_writes_belong_to_the_value() -> None:
    fn, local = values("b0:\n  R4 = MOV 0x1\n  @P0 R4 = MOV 0x2\n  R5 = IADD3 R4, 0x3, RZ\n  EXIT\n")
    local.exchange(local.exchanged(local.of[4][0], 5), 5)
    assert lines(fn)[:3] == ["R5 = MOV 0x1", "@P0 R5 = MOV 0x2", "R5 = IADD3 R5, 0x3, RZ"]


def test_registers_that_only_calls_change_are_not_free() -> None:
    """A callee may change registers above those of the kernel, which the launch does not provide."""
    fn = random_function(3, 4, 6)
    allocate_registers(fn)
    assert Registers(fn).free.bit_length() <= fn.reg_count - 2


@pytest.mark.parametrize("seed", range(30))
def test_exchanges_keep_the_meaning(seed: int) -> None:
    """Random functions, in which values go wherever they may, do what they did before."""
    fn = random_function(9_000 + seed, 1 + seed % 8, 3 + seed % 9)
    widths = widths_of(fn)
    want = Machine(fn, widths).run()
    allocate_registers(fn)
    rng = random.Random(seed)
    registers = Registers(fn)
    for b in fn.blocks:
        local = LocalValues(fn, b, registers, set())
        for read in local.at:
            for v in read:
                r = rng.choice([x for x in range(256) if registers.free >> x & 1])
                moved = local.exchanged(v, r) if r != v.register else []
                if moved:
                    local.exchange(moved, r)
    assert Machine(fn, widths).run() == want, dump(fn)
