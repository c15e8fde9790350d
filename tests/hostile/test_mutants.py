"""A sample of mutated inputs of every tool; `tools/mutants.py` is the campaign."""

import pytest

from tests.product.test_hostile import OWN
from tools.mutant_inputs import KINDS, Base, bases
from tools.mutants import campaign

SMALL = [p for p in OWN if p.stat().st_size < 3000][:6]


@pytest.fixture(scope="module")
def inputs() -> list[Base]:
    return bases(SMALL, len(SMALL))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("kind", ["ptx", "as", "as-control", "dis", "check", "run", "audit-case", "knobs"])
def test_sample(kind: str, inputs: list[Base]) -> None:
    codes, faults = campaign(kind, inputs, 60 if kind in ("ptx", "as", "dis", "check") else 30, 7, None)
    assert faults == []
    assert codes[0]
    assert codes[255] or codes[1]


@pytest.mark.sweep
@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("as", "as-control", "dis", "check", "run")])
def test_other_tools(kind: str, inputs: list[Base]) -> None:
    codes, faults = campaign(kind, inputs, 40, 7, None)
    assert faults == []
    assert sum(codes.values()) == 40
