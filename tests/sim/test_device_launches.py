"""Dynamic parallelism: kernels that kernels launch, with code of Orias and of ptxas."""

import numpy as np
import pytest

import orias
from orias.sim.core.device_launches import DEEPEST
from orias.sim.core.image import load
from tests.sim.build import assemble, program

ARCHES = ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_110a", "sm_120"]


def text(arch: str) -> str:
    return program("device_launches").replace("sm_75", arch).replace("7.8", "9.0")


def images(arch: str):
    source = text(arch)
    yield "orias", load(orias.compile(source, arch=arch).data)
    yield "orias -O0", load(orias.compile(source, arch=arch, opt_level=0).data)
    yield "ptxas", load(assemble(source, arch))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
def test_launches(arch):
    for name, image in images(arch):
        counts = np.zeros(32, np.uint32)
        image.launch("root", 1, 1, [counts])
        # Two blocks each time, of which each launches the next ones: 2 blocks of 1, 4 of 2, 8 of 3, 16 of 4 threads.
        assert list(counts[:4]) == [64, 24, 8, 2], name
        # The tail stream comes last, though it was the first.
        assert list(counts[16:18]) == [64, 0], name
        # Results: nothing, nothing, wrong sizes, no kernel.
        assert list(counts[20:24]) == [0, 0, 7, 99], name


def test_what_is_asked_for_can_be_taken_over():
    image = load(orias.compile(text("sm_90"), arch="sm_90").data)
    asked = []
    counts = np.zeros(32, np.uint32)
    image.launch("root", 1, 1, [counts], launched=asked.append)
    assert [(c.kernel, c.grid, c.block, c.tail) for c in asked] == [
        ("last", (2, 1, 1), (1, 1, 1), False),
        ("tree", (2, 1, 1), (1, 1, 1), False),
        ("last", (2, 1, 1), (1, 1, 1), True),
    ]
    assert [int.from_bytes(c.arguments[1], "little") for c in asked] == [1, 3, 0]
    assert not counts[:4].any()


def test_launches_in_each_other_end():
    image = load(orias.compile(text("sm_90"), arch="sm_90").data)
    asked = []
    counts = np.zeros(32, np.uint32)
    image.launch("tree", 1, 1, [counts, np.uint32(3)], depth=DEEPEST, launched=asked.append)
    assert not asked
    image.launch("tree", 1, 1, [counts, np.uint32(3)], depth=DEEPEST - 1, launched=asked.append)
    assert len(asked) == 1
