"""Kernels of what sm_100 and later add, with our code and ptxas's, in the simulator against results of the host."""

import pytest

from tests.device import load
from tests.forms.run import our_cubin, ptxas_cubin
from tests.kernels.later.later_kernels import KERNELS

CASES = [(name, arch) for name, k in KERNELS.items() for arch in k.targets]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize(("name", "arch"), CASES)
def test_ours(name: str, arch: str, level: int) -> None:
    k = KERNELS[name]
    k.run(load(our_cubin(k.text(arch), arch, level)))


@pytest.mark.in_turn(6)
@pytest.mark.parametrize(("name", "arch"), CASES)
def test_ptxas(name: str, arch: str) -> None:
    k = KERNELS[name]
    k.run(load(ptxas_cubin(k.text(arch), arch, 3)))
