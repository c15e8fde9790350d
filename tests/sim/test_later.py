"""Code of ptxas for sm_100 to sm_121: the one-instruction programs and kernels of the other targets, against the same expected results."""

import random

import pytest

from orias import sim
from tests.forms.items import FAMILIES, LATER, Item, items, module
from tests.forms.run import ptxas_cubin
from tests.nvtools import tool

TOGETHER = 24
"""Programs of a module."""


def failures(arch: str, level: int, some: list[Item]) -> list[str]:
    """What is wrong with some programs."""
    shared = [i for i in some if i.piece is not None]
    parts = [shared[k : k + TOGETHER] for k in range(0, len(shared), TOGETHER)]
    bad = []
    for part in [*parts, *([i] for i in some if i.piece is None)]:
        text = part[0].text if part[0].piece is None else module(part, arch)
        image = sim.load(ptxas_cubin(text, arch, level))
        for n, item in enumerate(part):
            try:
                wrong = item.check(image, f"k{n}")
            except sim.SimError as e:
                wrong = str(e)
            if wrong:
                bad.append(f"{item.family} {item.name}: {wrong}")
    return bad


def chosen(arch: str, families: tuple[str, ...], count: int, seed: str) -> list[Item]:
    every = [i for i in items(families) if i.settings("ptxas", arch)]
    return random.Random(seed).sample(every, min(count, len(every)))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_100a", "sm_120a"])
def test_some(arch: str) -> None:
    tool("ptxas")
    families = tuple(f for f in FAMILIES if "kernels" not in f and f not in ("wgmma", "wmma"))
    assert failures(arch, 3, chosen(arch, families, 24, arch)) == []


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", LATER)
def test_more(arch: str, level: int) -> None:
    tool("ptxas")
    assert failures(arch, level, chosen(arch, FAMILIES, 120, f"{arch}{level}")) == []
