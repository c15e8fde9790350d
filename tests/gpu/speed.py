"""Speed of the matrix products on a GPU: achieved TFLOP/s of our cubin and of ptxas's, and the record in docs/gpu-runs.md."""

import datetime
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.device import Map, on
from tests.gpu.driver import Driver
from tests.gpu.image import GpuImage, device
from tests.kernels.matrix.cases import CASES, descriptor, random_matrix, source
from tests.wgmma import test_gemm

RECORD = Path(__file__).parents[2] / "docs" / "gpu-runs.md"
SIZES = (1024, 4096, 8192)
Made = tuple[tuple[int, int], int, list[Any], int]


class Product(NamedTuple):
    """A square matrix product: PTX, dynamic shared memory, and for a size the grid, the threads, the arguments and which is the result."""

    name: str
    sm: str
    text: str
    shared: int
    make: Callable[[int, int], Made]
    """Size and number of multiprocessors."""

    def runs_on(self, arch: str) -> bool:
        """Whether a target has what the kernel needs."""
        return arch[3:] == self.sm if self.sm.endswith("a") else int(arch[3:].rstrip("af")) >= int(self.sm)


_SCRATCH = [np.uint64(0), np.uint64(0)]


def _operands(type_: str, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = np.random.default_rng(1)
    a, b = (random_matrix(r, (size, size), type_)[0] for _ in range(2))
    return a, b, np.zeros((size, size), np.int32 if type_ == "s8" else np.float32)


def _cuda(type_: str, transposed: bool) -> Callable[[int, int], Made]:
    def make(size: int, processors: int) -> Made:
        a, b, out = _operands(type_, size)
        last = np.int32(size * a.itemsize if transposed else size)
        return (size // 64, size // 64), 128, [a, b, out, np.int32(size), last], 2

    return make


def _triton(type_: str) -> Callable[[int, int], Made]:
    def make(size: int, processors: int) -> Made:
        a, b, out = _operands(type_, size)
        return ((size // 64) ** 2, 1), 128, [a, b, out, *[np.int32(size)] * 3, *_SCRATCH], 2

    return make


def _hopper(type_: str, threads: int, persistent: bool) -> Callable[[int, int], Made]:
    def make(size: int, processors: int) -> Made:
        a, b, out = _operands(type_, size)
        element = type_ if type_ in ("f16", "bf16") else "u8"
        maps = [v for m in (a, b) for v in descriptor(m, element, 128 // m.itemsize)]
        grid = (2, 1) if persistent else (size // 64, size // 64)
        return grid, threads, [*maps, out, *[np.int32(size)] * 3, *_SCRATCH], 10

    return make


def _tensor(type_: str) -> Callable[[int, int], Made]:
    def make(size: int, processors: int) -> Made:
        a, b, out = _operands("fp8" if type_ == "e4m3" else type_, size)
        options = {"box": (128 // a.itemsize, 128), "swizzle": "128B"}
        maps = [Map(m, "u8" if a.itemsize == 1 else "u16", options) for m in (a, b)]
        return (size // 128, size // 128), 384, [*maps, out, size * a.itemsize // 128, size], 2

    return make


def products() -> list[Product]:
    """The matrix products among the kernels of the tests."""
    made = {
        **{f"mma_{t}": _cuda(t, True) for t in ("f16", "bf16", "tf32", "s8", "fp8")},
        "mma75_f16": _cuda("f16", True), "wmma_f16": _cuda("f16", False), "wmma_s8": _cuda("s8", False),
        **{f"matmul_{t}": _triton(t) for t in ("f16", "bf16", "tf32", "fp8")},
        **{f"hopper_{t}": _hopper(t, 128, False) for t in ("bf16", "fp8", "s8")}, "hopper_persistent_f16": _hopper("f16", 384, True),
    }  # fmt: skip
    out = [Product(name, CASES[name].sm, *source(name), make) for name, make in made.items()]
    tensor = (test_gemm.PTX / "tensor_gemm.ptx").read_text()
    return out + [Product(f"tensor_{t}", "90a", tensor, test_gemm.SHARED, _tensor(t)) for t in ("f16", "bf16", "e4m3")]


def measure(driver: Driver, product: Product, cubin: bytes, size: int, repeat: int = 20) -> tuple[float, np.ndarray]:
    """TFLOP/s (integer operations count alike) of `repeat` launches between two events after a first one, and the result."""
    with on(device(driver)):
        image = GpuImage(driver, cubin)
        grid, threads, args, result = product.make(size, driver.processors)
        args = [a.made(image) if isinstance(a, Map) else a for a in args]
        kernel = product.name if product.name in image.kernels else next(iter(image.kernels))
        values, arrays = image.values(kernel, args)
        function = driver.function(image.module, kernel)
        shape = ((*grid, 1), (threads, 1, 1), values, product.shared)
        driver.launch(function, *shape)
        driver.finish(f"kernel {kernel}")
        start = driver.event()
        for _ in range(repeat):
            driver.launch(function, *shape)
        end = driver.event()
        driver.wait(end, f"kernel {kernel}")
        seconds = driver.milliseconds(start, end) / 1000
        out = next(at for a, at in arrays if a is args[result])
        data = np.frombuffer(driver.read(out, args[result].nbytes), args[result].dtype).reshape(args[result].shape)
        image.close()
    return 2 * size**3 * repeat / seconds / 1e12, data


class Row(NamedTuple):
    """One line of the record."""

    kernel: str
    size: int
    ours: float
    theirs: float


def commit() -> str:
    """The commit of the checkout, with a mark if it has changes."""
    command = ["git", "-C", str(RECORD.parent), "describe", "--always", "--dirty"]
    p = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return p.stdout.strip() or "unknown"


def record(path: Path, driver: Driver, rows: Sequence[Row]) -> None:
    """Append a section with a table to a file."""
    today = datetime.date.today().isoformat()
    lines = [
        "",
        f"## {today}, {driver.name()}, CUDA {driver.version() / 1000:.1f}, commit {commit()}",
        "",
        "| kernel | m = n = k | ours, TFLOP/s | ptxas, TFLOP/s | ours / ptxas |",
        "|---|---|---|---|---|",
        *[f"| {r.kernel} | {r.size} | {r.ours:.1f} | {r.theirs:.1f} | {r.ours / r.theirs:.2f} |" for r in rows],
        "",
    ]
    with path.open("a", encoding="utf-8") as out:
        out.write("\n".join(lines))
