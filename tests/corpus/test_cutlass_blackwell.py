"""The kernels of CUTLASS's tutorial for Blackwell, compiled by ptxas and by Orias, and interpreted, in the simulator: products of whole matrices.

The parameters are those that the examples' host code makes: shapes and strides of the tensors, the instruction descriptor, tensor maps.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import orias
from orias import sim
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from tests.corpus.test_corpus import NO_CORPUS, ROOT
from tests.sim.build import assemble

Arr = npt.NDArray[Any]
FILES = {p.name[:2]: p for p in (ROOT / "nvcc-13.0" / "cutlass").glob("*_sm100.sm_100a.ptx")}
pytestmark = [pytest.mark.sweep, pytest.mark.skipif(len(FILES) < 4, reason=NO_CORPUS)]
K = 128
CASES = {"01": (128, 256, 1), "02": (256, 512, 1), "04": (512, 1024, 4), "05": (512, 1024, 4)}
"""M, N, and blocks of a cluster in x and y."""


def _ptxas(path: Path) -> Any:
    return sim.load(assemble(path.read_text(), "sm_100a"))


def _orias(path: Path) -> Any:
    return sim.load(orias.compile(path.read_text(), arch="sm_100a", self_check=True).data)


def _interpreter(path: Path) -> Any:
    return PtxImage(parse(path.read_text(), path.name), "sm_100a")


@pytest.mark.parametrize("load", [_ptxas, _orias, _interpreter])
@pytest.mark.parametrize("number", sorted(CASES))
def test_tutorial(number: str, load: Callable[[Path], Any]) -> None:
    m, n, side = CASES[number]
    image = load(FILES[number])
    name = next(x for x in image.kernels if x.startswith("_Z11gemm_device"))
    rng = np.random.default_rng(1)
    a, b = rng.integers(-8, 9, (m, K)).astype(np.float16), rng.integers(-8, 9, (n, K)).astype(np.float16)
    c = rng.integers(-8, 9, (m, n)).astype(np.float32)
    arrays = a, b, c, np.zeros_like(c)
    places = [image.arena.allocate(x.nbytes, "array") for x in arrays]
    for x, place in zip(arrays, places, strict=True):
        image.arena.write(place, x)

    def tensor(k: int) -> bytes:
        """Shape, stride and address."""
        x = arrays[k]
        return np.array([*x.shape, x.shape[1], 0], np.uint32).tobytes() + places[k].to_bytes(8, "little")

    def coordinates(k: int) -> bytes:
        return np.array([*arrays[k].shape, 0], np.uint32).tobytes()

    def copy(k: int, box: list[int]) -> bytes:
        """A tensor map in the copy's structure."""
        x = arrays[k]
        dims, stride = [x.shape[1], x.shape[0]], x.shape[1] * x.itemsize
        return sim.tensormap("f16" if k < 2 else "f32", places[k], dims, [stride], box, swizzle="128B") + bytes(128)

    rows = 256 if side > 1 else 128
    product = (1 << 4 | 256 >> 3 << 17 | rows >> 4 << 24).to_bytes(4, "little") + b"\1\0\0\0"
    boxes = ([64, 32], [64, 64]) if side > 1 else ([64, 128], [64, 256])
    inputs = [copy(k, boxes[k]) for k in range(2)]
    scalars = [np.float32(1), np.float32(2)]
    if number == "01":
        args = [*map(tensor, range(4)), b"\0", product, b"\0", *scalars]
    elif number == "05":
        outputs = [copy(k, [32, 128]) for k in (2, 3)]
        args = [*map(coordinates, range(4)), b"\0", b"\0", product, b"\0", *inputs, *outputs, *scalars]
    else:
        args = [coordinates(0), coordinates(1), tensor(2), tensor(3), b"\0", product, b"\0", *inputs, *scalars]
    # A block has 128 rows of the results; two of them have 256 columns together.
    grid = (m // 128, n // 256)
    image.launch(name, grid, 128, args, shared=100 << 10, cluster=(side, side, 1))
    got = np.frombuffer(image.arena.read(places[3], c.nbytes), np.float32).reshape(m, n)
    np.testing.assert_array_equal(got, a.astype(np.float64) @ b.astype(np.float64).T + 2 * c)
