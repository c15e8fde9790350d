"""Varied kernels made by nvcc, clang, Triton, tinygrad and Numba, compiled by us and by ptxas, run in the simulator against host results."""

import pytest

import orias
from bench.time import ptxas
from tests.kernels.varied.kernels import CASES
from tests.kernels.varied.varied_cases import PTX, source
from tests.rotation import rotating

ARCHES = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
RUNS = [(name, arch, level) for name in sorted(CASES) for arch in ARCHES for level in (0, 3)]
PARTS = 8


def checked(name: str, arch: str, level: int) -> None:
    CASES[name]().run(orias.compile(source(name), arch=arch, opt_level=level, self_check=True).data)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("run", rotating(RUNS, 6, "varied kernels"), ids=lambda r: "-".join(map(str, r)))
def test_some(run: tuple[str, str, int]) -> None:
    checked(*run)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_part(part: int) -> None:
    bad = []
    for name, arch, level in RUNS[part::PARTS]:
        try:
            checked(name, arch, level)
        except (orias.CompileError, AssertionError) as e:
            bad.append(f"{name} {arch} -O{level}: {e}")
    assert not bad, "\n".join(bad)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", rotating(ARCHES, 1, "varied kernels of ptxas"))
def test_theirs(arch: str) -> None:
    """The same for ptxas: it judges the simulator and the expectations."""
    for name in CASES:
        CASES[name]().run(ptxas(source(name), arch))


def test_every_source_has_a_case() -> None:
    assert {p.stem for p in PTX.glob("*.ptx")} == set(CASES)
