"""Every program of asynchronous instructions, compiled by us and by ptxas, run in the simulator, against exact results.

ptxas is there to judge the expectations and the simulator.
"""

import pytest

from tests.asynchronous import barrier_programs, copy_programs, elect_programs, later_programs, multimem_programs
from tests.asynchronous.harness import LATER, Program
from tests.rotation import some_later

PROGRAMS = [
    *barrier_programs.programs(),
    *copy_programs.programs(),
    *elect_programs.programs(),
    *multimem_programs.programs(),
    *later_programs.programs(),
]
STEP = 23
"""The default run takes every twenty-third program, a different selection for each setting."""
LATER_STEP = 61
"""The same for the targets after sm_90."""
SETTINGS = [(c, a, o) for c in ("orias", "ptxas") for a in ("sm_80", "sm_90a") for o in (0, 3)]


def failures(programs: list[Program], compiler: str, arch: str, opt: int) -> list[str]:
    bad = []
    for p in programs:
        if not p.fits(arch) or (compiler == "ptxas" and arch in p.unjudged):
            continue
        wrong = p.run(compiler, arch, opt)
        if wrong:
            bad.append(wrong)
    return bad


def test_names() -> None:
    names = [p.name for p in PROGRAMS]
    assert len(names) >= 140
    assert len(set(names)) == len(names)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s[0]}-{s[1]}-O{s[2]}")
def test_sample(setting: tuple[str, str, int]) -> None:
    compiler, arch, opt = setting
    bad = failures(PROGRAMS[SETTINGS.index(setting) :: STEP], compiler, arch, opt)
    assert not bad, "\n".join(bad)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
@pytest.mark.parametrize("arch", LATER)
def test_sample_of_later_targets(arch: str, compiler: str) -> None:
    start = 2 * LATER.index(arch) + (compiler == "ptxas")
    bad = failures([p for p in PROGRAMS if p.fits(arch)][start::LATER_STEP], compiler, arch, 3)
    assert not bad, "\n".join(bad)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "setting",
    [
        *SETTINGS,
        ("orias", "sm_86", 3),
        ("orias", "sm_90", 1),
        *((c, a, o) for a in some_later("asynchronous") for c in ("orias", "ptxas") for o in (0, 3)),
        ("orias", "sm_100f", 1),
        ("orias", "sm_121a", 2),
    ],
    ids=lambda s: f"{s[0]}-{s[1]}-O{s[2]}",
)
def test_all(setting: tuple[str, str, int]) -> None:
    compiler, arch, opt = setting
    programs = [p for p in PROGRAMS if arch.endswith("a") or "tensormap" not in p.name]
    if opt != 3:
        # Elections are resolved from -O1 on: one setting of each compiler is enough for the rest.
        programs = [p for p in programs if not p.name.startswith("copy by")]
    bad = failures(programs, compiler, arch, opt)
    assert not bad, "\n".join(bad)
