"""Whole kernels squeezed into 24 registers: spill code must not change what they compute."""

import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.kernels.test_kernels import run, source


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", ["nbody", "print", "softmax", "divide", "recursion", "params"])
def test_kernel_in_24_registers(name: str, arch: str) -> None:
    options = Options(arch)
    options.self_check = True
    options.maxrregcount = 24
    cubin = compile_text([(name, source(name))], options)
    assert all(k.registers <= 24 for k in cubin.kernels.values())
    run(name, cubin.data)


@pytest.mark.parametrize("name", ["nbody", "fft", "hashing"])
def test_kernels_that_fit_into_24_registers(name: str) -> None:
    """ptxas 13.0.88 spills nothing here either."""
    options = Options("sm_80")
    options.maxrregcount = 24
    cubin = compile_text([(name, source(name))], options)
    assert [k.spill_stores + k.spill_loads for k in cubin.kernels.values()] == [0] * len(cubin.kernels)
