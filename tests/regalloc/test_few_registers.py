"""Whole kernels squeezed into 24 registers: spill code must not change what they compute."""

import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.kernels.test_kernels import run, source


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", ["nbody", "print", "softmax", "divide", "recursion", "params"])
def test_kernel_in_24_registers(name: str, arch: str) -> None:
    options = Options(arch)
    options.self_check = True
    options.maxrregcount = 24
    cubin = compile_text([(name, source(name))], options)
    assert all(k.registers <= 24 for k in cubin.kernels.values())
    run(name, cubin.data)
