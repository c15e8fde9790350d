"""Kernels under a limit of registers that need no spills: what passes do before allocation fits the limit too."""

import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.kernels.varied import varied_cases
from tests.kernels.varied.kernels import GROUPS

_CASES = {name: make for cases in GROUPS.values() for name, make in cases.items()}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["lu_panel", "tridiagonal", "lennard_jones", "sha256"])
def test_no_spills_in_32_registers(name: str) -> None:
    """ptxas 13.0.88 spills nothing here either.  All but the last call helpers, across which few registers are left."""
    options = Options("sm_90a")
    options.self_check = True
    options.maxrregcount = 32
    cubin = compile_text([(name, varied_cases.source(name))], options)
    assert [k.spill_stores + k.spill_loads for k in cubin.kernels.values()] == [0] * len(cubin.kernels)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["aes_tables", "topk_warp", "top_four"])
def test_no_spills_in_24_registers(name: str) -> None:
    """Wide loads of words that are read once would take a register each; addresses are computed again from what is live."""
    options = Options("sm_90a")
    options.self_check = True
    options.maxrregcount = 24
    cubin = compile_text([(name, varied_cases.source(name))], options)
    assert [k.spill_stores + k.spill_loads for k in cubin.kernels.values()] == [0] * len(cubin.kernels)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("limit", [24, 32])
@pytest.mark.parametrize("name", ["lu_panel", "tridiagonal", "lennard_jones", "ray_spheres", "topk_warp", "aes_tables"])
def test_results_under_a_limit(name: str, limit: int) -> None:
    options = Options("sm_90a")
    options.self_check = True
    options.maxrregcount = limit
    _CASES[name]().run(compile_text([(name, varied_cases.source(name))], options).data)
