"""Matrix kernels made by nvcc and Triton, compiled by us and by ptxas, run in the simulator against host results.

``python -m tools.judge.agreement FILE --family "matrix kernels"`` runs all of them on all targets; the sweep takes a part of these
runs, another one every day.
"""

import pytest

from tests.forms.items import Item, items
from tests.kernels.matrix.cases import CASES, PTX
from tests.rotation import rotating

ITEMS = {i.name: i for i in items(["matrix kernels"])}
DEFAULT = [
    (name, arch, level)
    for name in CASES
    for arch, level in (("sm_75", 3), ("sm_80", 3), ("sm_90", 0))
    if ITEMS[name].settings("orias", arch)
] + [
    ("hopper_persistent_f16", "sm_90a", 3),
    ("conv_f16", "sm_90a", 3),
    ("hopper_grouped_f16", "sm_90a", 0),
    ("hopper_attention_backward_f16", "sm_90a", 3),
]
RUNS = [
    (item, compiler, arch, level)
    for item in ITEMS.values()
    for compiler, arches in (("orias", ("sm_75", "sm_80", "sm_89", "sm_90a")), ("ptxas", ("sm_75", "sm_80", "sm_90a")))
    for arch in arches
    for level in item.settings(compiler, arch)
]
PARTS = 20


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("run", DEFAULT, ids=lambda r: "-".join(map(str, r)))
def test_ours(run: tuple[str, str, int]) -> None:
    name, arch, level = run
    assert ITEMS[name].run("orias", arch, level) == ""


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_part(part: int) -> None:
    mine: list[tuple[Item, str, str, int]] = rotating(RUNS, 3, f"matrix kernels {part}")
    bad = [f"{i.name} {c} {a} -O{n}: {w}" for i, c, a, n in mine if (w := i.run(c, a, n))]
    assert not bad, "\n".join(bad)


def test_every_source_has_a_case() -> None:
    assert {p.stem for p in PTX.glob("*.ptx")} == set(CASES)
