"""Runs all programs and kernels of the tests on a GPU through the CUDA driver API.  ``pytest -m gpu``; skipped with the reason without one.

Programs of one instruction, matrix and copy kernels, and the kernels of ``tests/kernels``, by both compilers at -O0 and -O3; then the
speed of the matrix products and of ptxas's cubins, which goes to ``docs/gpu-runs.md`` (or the file that ORIAS_GPU_RECORD names).
"""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.device import on
from tests.forms.items import ARCHES, COMPILERS, FAMILIES, LATER
from tests.gpu import apart, random_programs
from tests.gpu.apart import Gpu
from tests.gpu.driver import Driver, DriverError
from tests.gpu.image import device
from tests.gpu.speed import RECORD, SIZES, Product, Row, measure, products, record
from tests.rotation import rotating, seed
from tests.sync import test_random_sides as random_sides

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    try:
        found = apart.gpu()
    except DriverError as e:
        pytest.skip(f"no usable GPU: {e}")
    if found.arch not in (*ARCHES, *LATER):
        pytest.skip(f"{found.name} is {found.arch}, which is not a target yet")
    print(found)
    return found


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as out:
        yield out


@pytest.mark.parametrize("compiler", list(COMPILERS))
@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "multimem"])  # needs memory of several GPUs
def test_programs(gpu: Gpu, pool: Executor, family: str, compiler: str) -> None:
    bad = apart.failures(pool, family, compiler, gpu.arch)
    assert not bad, f"{len(bad)} wrong\n" + "\n".join(bad[:100])


def sides(driver: Driver, numbers: list[int], level: int) -> Iterator[str]:
    """What differs between the compilers in random programs of collectives on several sides of branches."""
    with on(device(driver)):
        for n in numbers:
            text = random_sides.Program(n).text(driver.arch)
            ours, theirs = (random_sides.results(make(text, driver.arch, level)) for make in COMPILERS.values())
            yield f"{n}: {ours} for {theirs}" if ours != theirs else ""


@pytest.mark.parametrize("level", [0, 3])
def test_random_sides(gpu: Gpu, level: int) -> None:
    numbers = rotating(range(3, 1_000_000), 60, "sides on a GPU")
    print(f"ORIAS_SEED={seed()}")
    bad = [text for text in apart.rows(lambda driver: sides(driver, numbers, level)) if text]
    assert not bad, f"{len(bad)} wrong\n" + "\n".join(bad[:20])


def test_random_programs(gpu: Gpu, pool: Executor) -> None:
    numbers = rotating(range(1, 1_000_000), 960, "programs on a GPU")
    print(f"ORIAS_SEED={seed()}")
    ran, bad = random_programs.wrong(pool, numbers, gpu.arch)
    assert not bad, f"{len(bad)} of {ran} wrong\n" + "\n".join(bad[:50])
    assert ran > len(numbers) // 2


def speed(driver: Driver, chosen: list[Product], sizes: tuple[int, ...], path: Path, repeat: int = 20) -> list[Row]:
    """Measure products with both compilers and record them."""
    rows = []
    for product in chosen:
        if not product.runs_on(driver.arch):
            continue
        cubins = {c: make(product.text, driver.arch, 3) for c, make in COMPILERS.items()}
        for size in sizes:
            ours, mine = measure(driver, product, cubins["orias"], size, repeat)
            theirs, other = measure(driver, product, cubins["ptxas"], size, repeat)
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3 * np.abs(other).max(), err_msg=product.name)
            rows.append(Row(product.name, size, ours, theirs))
    record(path, driver, rows)
    return rows


def test_speed(gpu: Gpu) -> None:
    """No bound on the ratio: the record is the result."""
    path = Path(os.environ.get("ORIAS_GPU_RECORD", RECORD))
    assert list(apart.rows(lambda driver: iter(speed(driver, products(), SIZES, path))))
