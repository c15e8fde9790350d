"""Loads and runs our cubins through the CUDA driver API.  ``pytest -m gpu``; skipped with the reason without a GPU.

Results of real runs are recorded in ``docs/gpu-runs.md``.
"""

import json

import numpy as np
import pytest

import orias
from tests.gpu.driver import Driver, DriverError, load_driver
from tests.kernels.test_kernels import HERE, NAMES, NEEDS_80, arguments, source

pytestmark = pytest.mark.gpu
PRINTS = {"print"}
"""Kernels whose only result is printed text."""


@pytest.fixture(scope="module")
def gpu() -> Driver:
    try:
        driver = load_driver()
    except DriverError as e:
        pytest.skip(f"no usable GPU: {e}")
    if f"sm_{driver.sm}" not in {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90"}:
        pytest.skip(f"{driver.name()} is sm_{driver.sm}, which is not a target yet")
    print(f"{driver.name()}, sm_{driver.sm}, driver {driver.version()}")
    return driver


@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_on_the_gpu(gpu: Driver, name: str, opt: int) -> None:
    if name in NEEDS_80 and gpu.sm < 80:
        pytest.skip("cp.async needs sm_80")
    case = json.loads((HERE / "cases" / f"{name}.json").read_text())
    args, checks = arguments(case)
    cubin = orias.compile(source(name), arch=f"sm_{gpu.sm}", opt_level=opt)
    grid, block = (*case["grid"], 1), (*case["block"], 1)
    gpu.run(cubin.data, case["kernel"], grid, block, args, case["shared"])
    for got, want, tol in checks:
        if tol:
            np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
        else:
            np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{got.itemsize}"))
    assert checks or name in PRINTS
