"""No value of a knob makes wrong code: real kernels with random knobs, run against host results."""

import random

import pytest

import orias
from orias.diag import CompileError
from orias.knobs.knob_table import KNOBS
from tests.kernels.test_kernels import run, source

SMALL = (
    "saxpy",
    "reduce",
    "scan",
    "softmax",
    "spmv",
    "stencil",
    "histogram",
    "votes",
    "matmul",
    "bitonic",
    "fft",
    "params",
)
REFUSALS = {"RegAllocMaxSpillRounds", "MaxRegCount"}
"""Knobs with which a kernel may be refused."""


def knobs(seed: int) -> dict[str, object]:
    """A third of the knobs at one of their ends, or near."""
    rng = random.Random(seed)
    out: dict[str, object] = {}
    for k in KNOBS:
        if k.kind == "int" and isinstance(k.default, int) and k.name not in REFUSALS and rng.random() < 0.33:
            high = min(k.high, 4 * k.default + 4)
            out[k.name] = rng.choice((k.low, rng.randint(k.low, high), high))
    return out


def judge(seed: int) -> None:
    name, arch = SMALL[seed % len(SMALL)], ("sm_75", "sm_80", "sm_90")[seed % 3]
    setting = knobs(seed)
    try:
        data = orias.compile(source(name), arch=arch, knobs=setting, self_check=seed % 4 == 0).data
        run(name, data)
    except (AssertionError, CompileError) as e:
        raise AssertionError(f"{name} for {arch} with {setting}: {e}") from e


@pytest.mark.parametrize("seed", range(3))
def test_random_knobs(seed: int) -> None:
    judge(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(3, 40))
def test_more_random_knobs(seed: int) -> None:
    judge(seed)
