"""Objects of ours and of ptxas, linked by nvlink in every combination, compute what ptxas's alone compute."""

from pathlib import Path

import numpy as np
import pytest

from orias import sim
from tests.cubin.link_cases import CASES
from tests.cubin.linking import compiled, link
from tests.rotation import LATER, rotating
from tools.links.__main__ import ARCHES as RANDOM_ARCHES
from tools.links.__main__ import LEVELS, judged
from tools.links.programs import program

HEAD = ".version 9.0\n.target {}\n.address_size 64\n"
THREADS = 16
ARCHES = ("sm_75", "sm_80", "sm_89", "sm_90", *LATER)
EVERY = [(name, arch) for name in CASES for arch in ARCHES]


def outcome(data: bytes) -> list[int]:
    out = np.zeros(2 * THREADS, np.uint32)
    sim.load(data).launch("k", 1, THREADS, [out], shared=256)
    return [int(v) for v in out]


def differing(name: str, arch: str, folder: Path) -> list[str]:
    """The mixed links of a case that compute something else than the link of ptxas's objects."""
    texts = [HEAD.format(arch) + text for text in CASES[name]]
    objects = [
        [compiled(text, arch, ours, folder / f"{number}{'ours' if ours else 'theirs'}.o") for ours in (False, True)]
        for number, text in enumerate(texts)
    ]
    want = outcome(link([objects[0][0], objects[1][0]], arch, folder))
    assert any(want)
    found = []
    for first, second in ((0, 1), (1, 0), (1, 1)):
        got = outcome(link([objects[0][first], objects[1][second]], arch, folder))
        if got != want:
            found.append(f"{name} for {arch}, objects {first}{second}: {got}, want {want}")
    return found


@pytest.mark.parametrize(("name", "arch"), [*rotating(EVERY, 2, "mixed links"), ("recursion across objects", "sm_90")])
def test_a_few(name: str, arch: str, tmp_path: Path) -> None:
    assert differing(name, arch, tmp_path) == []


@pytest.mark.sweep
def test_many(tmp_path: Path) -> None:
    """14 of the cases and targets: 42 mixed links."""
    found = []
    for n, (name, arch) in enumerate(rotating(EVERY, 14, "many mixed links")):
        folder = tmp_path / str(n)
        folder.mkdir()
        found += differing(name, arch, folder)
    assert found == []


@pytest.mark.sweep
def test_random_programs(tmp_path: Path) -> None:
    """Ten random programs of two or three modules: some 40 mixed links."""
    different, right = [], 0
    for seed in rotating(range(1 << 20), 10, "random links"):
        folder = tmp_path / str(seed)
        folder.mkdir()
        arch, level = RANDOM_ARCHES[seed % len(RANDOM_ARCHES)], LEVELS[seed % len(LEVELS)]
        counts, found = judged(program(seed), arch, level, folder)
        right += counts["right"]
        different += [f"{seed} {arch} {level}: {line}" for line in found]
    assert (different, right > 20) == ([], True)
