"""The barrier of a grid by the function of the system that the linked device runtime calls."""

import numpy as np
import pytest

import orias
from orias.sim.checks.checker import Checker
from orias.sim.core.image import load
from tests.sim.build import assemble, program

BLOCKS = 6
SUM = sum(range(1, BLOCKS + 1))


def source(arch: str) -> str:
    return program("grid_barrier").replace("sm_75", arch).replace("7.8", "9.0")


def cubin(compiler: str, arch: str) -> bytes:
    return orias.compile(source(arch), arch=arch).data if compiler == "orias" else assemble(source(arch), arch)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100a"])
@pytest.mark.parametrize("tool", ["", "racecheck"])
def test_all_blocks_meet(compiler, arch, tool):
    image = load(cubin(compiler, arch))
    values, sums = np.zeros(2 * BLOCKS + 2, np.uint32), np.zeros(BLOCKS, np.uint32)
    checker = Checker(image, "k", [tool] if tool else [])
    image.launch("k", BLOCKS, 64, [values, sums], resident=BLOCKS, timing=checker.start if tool else None)
    assert list(sums) == [SUM] * BLOCKS
    assert list(values[:BLOCKS]) == [SUM * BLOCKS] * BLOCKS
    assert not checker.findings


def test_no_barrier_where_blocks_do_not_run_together():
    image = load(cubin("orias", "sm_90"))
    blocks = 3000
    values, sums = np.ones(2 * blocks + 2, np.uint32), np.zeros(blocks, np.uint32)
    image.launch("k", blocks, 64, [values, sums])
    assert not values[2 * blocks] and not sums.any()
