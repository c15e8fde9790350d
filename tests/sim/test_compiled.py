"""The instructions of test_instructions, compiled by us: the simulator judges our compiler against exact arithmetic."""

import numpy as np
import pytest

import orias
from orias import sim
from tests.sim.build import OURS
from tests.sim.test_instructions import CASES, _both_nan, cases, module

SOME = 48
"""Samples of each case to run."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("target", "level"),
    [
        pytest.param(t, o, marks=[] if (t, o) in (("sm_75", 3), ("sm_90", 3)) else pytest.mark.sweep)
        for t in OURS
        for o in (0, 1, 3)
    ],
)
def test_our_instructions(target: str, level: int) -> None:
    number = int(target[3:])
    image = sim.load(orias.compile(module(number), arch=target, opt_level=level).data)
    wrong = []
    for name, types, result, _, _, least in CASES:
        if least > number:
            continue
        operands, expected = cases(name)
        wide = {t: np.uint64 if t.endswith("64") else np.uint32 for t in ("u32", "u64", "f32", "f64")}
        out = np.zeros(SOME, wide[result])
        arrays = [np.array(v[:SOME], wide[t]) for t, v in zip(types.split(), operands, strict=True)]
        image.launch(f"k_{name}", 1, SOME, [out, *arrays])
        for got, want in zip(out.tolist(), expected, strict=False):
            if got != want and not (result[0] == "f" and _both_nan(got, want, result)):
                wrong.append(f"{name}: {got:#x}, expected {want:#x}")
                break
    assert not wrong, "\n".join(wrong)
