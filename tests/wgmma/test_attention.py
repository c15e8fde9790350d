"""Flash attention forward with wgmma (``cuda/attention.cu``), two accumulators and A in registers: ours and ptxas's, against numpy."""

import functools
from pathlib import Path

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.device import load
from tests.forms.run import ptxas_cubin
from tests.wgmma.test_gemm import figures

SOURCE = (Path(__file__).parent / "ptx" / "attention.ptx").read_text()


@functools.cache
def cubin(compiler: str) -> bytes:
    if compiler == "ptxas":
        return ptxas_cubin(SOURCE, "sm_90a", 3)
    options = Options("sm_90a")
    options.self_check = True
    result = compile_text([("attention.ptx", SOURCE)], options)
    assert result.diagnostics == []
    return result.data


def attention(cubin: bytes) -> None:
    rng = np.random.default_rng(11)
    tiles = 3
    q = rng.normal(size=(64, 64)).astype(np.float16)
    k, v = (rng.normal(size=(64 * tiles, 64)).astype(np.float16) for _ in range(2))
    out = np.zeros((64, 64), np.float32)
    scale = np.float32(0.125 * np.log2(np.e))
    load(cubin).launch("attention", 1, 128, [q, k, v, out, tiles, scale], max_steps=100_000)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    want = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    # The factors P are rounded to f16.
    np.testing.assert_allclose(out, want, rtol=2e-3, atol=2e-3)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_attention(compiler: str) -> None:
    attention(cubin(compiler))


def test_size_beside_ptxas() -> None:
    """Registers at most 1.1 times ptxas's, instructions at most 1.2 times."""
    ours, theirs = (figures(cubin(c), "attention") for c in ("orias", "ptxas"))
    assert ours[0] <= 1.1 * theirs[0]
    assert ours[1] <= 1.2 * theirs[1]
