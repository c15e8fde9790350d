"""All inputs of a few instructions (tools/judge/exhaustive.py has the campaign)."""

import pytest

import orias
from orias.sim import load
from tests.forms.integer_forms import forms
from tools.judge.approximate import FUNCTIONS, judge, program
from tools.judge.exhaustive import bits_of, inputs, run, run_constants, with_inputs

FORMS = {f.name: f for f in forms() if f.name in ("abs.s16", "add.s16")}


def test_all_inputs() -> None:
    f = FORMS["abs.s16"]
    rows = inputs(f, bits_of(f), 0)
    assert len(rows) == 1 << 16
    assert run(f, rows, "sm_90") == []
    assert run_constants(f, rows[:: 1 << 8], "sm_90") == []


def test_one_wrong_input_is_found() -> None:
    f = FORMS["abs.s16"]
    want = f._want
    assert want is not None
    wrong = with_inputs(f, f.vectors)
    wrong._want = lambda x: want(x) if x != 0xABCD else 0
    rows = inputs(f, 16, 0)
    assert "0xabcd" in run(wrong, rows, "sm_90")[0]
    assert "0xabcd" in run_constants(wrong, rows[0xABC0:0xABD0], "sm_90")[0]


def test_inputs_of_32_bits_are_spread() -> None:
    f = FORMS["add.s16"]
    rows = inputs(f, bits_of(f), 1 << 10)
    assert len(set(rows)) == 1 << 10
    assert {y >> 12 for _, y in rows} == set(range(16))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("instruction", [n for n in FUNCTIONS if ".ftz" not in n])
def test_approximate_functions(instruction: str) -> None:
    """One input in 4,096, all subnormal ones left out, and a much larger error of MUFU is noticed."""
    image = load(orias.compile(program(instruction), arch="sm_90").data)
    line = judge(instruction, "sm_90", 1 << 12, image, subnormal=False)
    assert line["wrong"] == []
    assert line["inputs"] == 1 << 20
    error = 1 << 14 if instruction == "tanh.approx.f32" else 64
    assert judge(instruction, "sm_90", 1 << 12, image, subnormal=False, mufu_error=error)["wrong"]
