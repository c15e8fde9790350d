"""Every instruction form, with inputs from memory and as constants, compiled by us and by ptxas, run in the simulator, against exact results.

ptxas is there to judge the expectations and the simulator: a form it fails is a wrong form.
"""

from typing import Any

import pytest

from orias.tools.fuzz.judge import OK, OPEN
from tests.forms.constant_forms import constant_forms
from tests.forms.form import Form
from tests.forms.generate import FAMILIES, all_forms
from tests.forms.mixes import judged
from tests.forms.run import failures
from tests.forms.uniform_forms import uniform_forms
from tests.rotation import seed, some_later, with_later

ALL = all_forms()
COUNT = sum(len(f) for f in ALL.values())
STEP = 36
"""The default run takes every 36th form of a family, a different selection for each setting."""


def sample(family: str, start: int) -> list[Form]:
    forms = ALL[family]
    return forms[start % STEP :: STEP] or forms[:1]


def report(bad: dict[str, list[str]]) -> str:
    return "\n".join(f"{len(v)}x {v[0]}" for v in bad.values())


def test_count() -> None:
    assert COUNT >= 1700
    for family, forms in ALL.items():
        names = [f.name for f in forms]
        assert len(set(names)) == len(names), family


PRODUCTS = ("matrix", "wmma")


def with_families(settings: list[tuple[str, str, int]]) -> list[Any]:
    """Each setting with each family."""
    return [pytest.param(s, f, id=f"{s[0]}-{s[1]}-O{s[2]}-{f}") for s in settings for f in FAMILIES]


SETTINGS = [
    ("orias", "sm_90", 3),
    ("orias", "sm_75", 0),
    ("orias", "sm_80", 3),
    ("ptxas", "sm_90", 3),
    ("ptxas", "sm_75", 0),
    ("orias", "sm_100a", 3),
    ("orias", "sm_120a", 0),
    ("orias", "sm_110a", 3),
    ("orias", "sm_103a", 1),
    ("ptxas", "sm_120a", 3),
]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("setting", "family"), with_families(SETTINGS))
def test_sample(family: str, setting: tuple[str, str, int]) -> None:
    compiler, arch, opt = setting
    bad = failures(sample(family, SETTINGS.index(setting) * 5), compiler, arch, opt)
    assert not bad, report(bad)


SWEEPS = [
    (c, a, o) for c in ("orias", "ptxas") for a in ("sm_75", "sm_80", "sm_90", *some_later("forms")) for o in (0, 3)
]
"""Both compilers, lowest and highest level, on a target of each generation; ours also at the other levels and targets."""
SWEEPS += [("orias", "sm_86", 3), ("orias", "sm_89", 3), ("orias", "sm_90", 1)]


SWEEP_STEP = {"matrix": len(SWEEPS), "wmma": len(SWEEPS)}
"""Families whose forms take long: the settings of the sweep share them out."""


@pytest.mark.sweep
@pytest.mark.parametrize(("setting", "family"), with_families(SWEEPS))
def test_all(setting: tuple[str, str, int], family: str) -> None:
    compiler, arch, opt = setting
    step = SWEEP_STEP.get(family, 1)
    bad = failures(ALL[family][SWEEPS.index(setting) % step :: step], compiler, arch, opt)
    assert not bad, report(bad)


PURE = ("integer", "float", "convert", "divide", "video")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("family", PURE)
def test_constants_sample(family: str) -> None:
    """Some of the forms with constant inputs: the constant folder and the rewrites for constant operands."""
    bad = failures(constant_forms(ALL[family], 4)[::32], "orias", "sm_90", 3)
    assert not bad, report(bad)


@pytest.mark.sweep
@pytest.mark.parametrize("family", PURE)
@pytest.mark.parametrize(("arch", "opt"), [("sm_90", 3), ("sm_75", 3), ("sm_80", 1)])
def test_constants_all(family: str, arch: str, opt: int) -> None:
    bad = failures(constant_forms(ALL[family])[opt % 3 :: 3 if arch == "sm_90" else 9], "orias", arch, opt)
    assert not bad, report(bad)


NO_UNIFORM = ("atom.contended", "cluster.named")
"""Forms whose threads depend on each other."""
SHARED = [f for f in FAMILIES if f not in PRODUCTS and f != "warp"]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("family", SHARED)
def test_uniform_sample(family: str) -> None:
    """Some of the forms with inputs that all threads share."""
    forms = [f for f in ALL[family] if f.name not in NO_UNIFORM]
    bad = failures(uniform_forms(forms[7::40], 12), "orias", ("sm_90", "sm_120a")[SHARED.index(family) % 2], 3)
    assert not bad, report(bad)


@pytest.mark.sweep
@pytest.mark.parametrize("family", SHARED)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "uniform forms"))
def test_uniform_all(family: str, arch: str) -> None:
    forms = [f for f in ALL[family] if f.name not in NO_UNIFORM]
    bad = failures(uniform_forms(forms, 12)[SHARED.index(family) % 2 :: 2], "orias", arch, 3)
    assert not bad, report(bad)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.sweep)])
def test_chained(turn: int) -> None:
    """Random programs of forms."""
    count = 40 if turn else 3
    first = 1000 * (seed() + 1) if turn else 200_000
    bad = [
        (v.seed, v.arch, v.level, v.kind, v.detail)
        for v in (judged(s) for s in range(first, first + count))
        if v.kind not in (OK, OPEN)
    ]
    assert not bad
