"""Products of narrow floats and matrix moves of bytes, compiled by us and by ptxas for sm_100a and later, run in the simulator."""

import pytest

from tests.forms.form import Form
from tests.forms.generate import all_forms
from tests.forms.narrow_forms import eights, kinds, moves
from tests.forms.run import failures

COMMON = moves() + eights()
KINDS = kinds()
OLDER = all_forms()["matrix"] + all_forms()["wmma"]


def report(bad: dict[str, list[str]]) -> str:
    return "\n".join(f"{len(v)}x {v[0]}" for v in bad.values())


def check(forms: list[Form], compiler: str, arch: str, opt: int) -> None:
    bad = failures(forms, compiler, arch, opt)
    assert not bad, report(bad)


def test_count() -> None:
    names = [f.name for f in COMMON + KINDS]
    assert len(set(names)) == len(names) >= 200


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_sample(compiler: str) -> None:
    start = ["orias", "ptxas"].index(compiler)
    check(COMMON[start::4], compiler, "sm_100a", 3)
    check(COMMON[start::8] + KINDS[start::24], compiler, "sm_120a", 0 if compiler == "orias" else 3)


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_older_forms(arch: str) -> None:
    """Products that have no operation on these targets."""
    check([f for f in OLDER if ".b1." in f.name or ".f64." in f.name or "s4" in f.name][::24], "orias", arch, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"])
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_all(compiler: str, arch: str, opt: int) -> None:
    check(COMMON + (KINDS if arch >= "sm_120" else []), compiler, arch, opt)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_older(compiler: str, part: int) -> None:
    """The forms of the targets before, a tenth for each target and level."""
    arches = ["sm_100", "sm_103", "sm_110", "sm_120", "sm_121"]
    check(OLDER[part::10], compiler, arches[part % 5], 3 if part < 5 else 0)
