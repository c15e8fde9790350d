"""A warp-specialised matrix product (bulk copies, mbarrier pipeline, setmaxnreg, wgmma) from CUDA C++: ours and ptxas's, against numpy.

``cuda/gemm.cu`` (bulk copies of tiles that are swizzled in memory) and ``cuda/tensor_gemm.cu`` (tensor copies of plain matrices) became
``ptx/*.ptx`` with nvcc 13.0 (``make.sh``).
"""

import functools
from pathlib import Path

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.cubin.reader import Reader
from orias.options import Options
from orias.sim import Image
from tests.device import load, tensormap
from tests.forms.run import ptxas_cubin
from tests.wgmma.matrices import BITS, random_patterns, values

PTX = Path(__file__).parent / "ptx"
SHARED = 6 * 128 * 128 + 48
KINDS = {f"{name}_{t}": t for name in ("gemm", "tensor") for t in ("f16", "bf16", "e4m3")}


@functools.cache
def cubin(compiler: str, kernel: str, check: bool = False) -> bytes:
    source = (PTX / ("gemm.ptx" if kernel.startswith("gemm") else "tensor_gemm.ptx")).read_text()
    if compiler == "ptxas":
        return ptxas_cubin(source, "sm_90a", 3)
    options = Options("sm_90a")
    options.entries = [kernel]
    options.self_check = check
    return compile_text([("gemm.ptx", source)], options).data


def tiled(patterns: np.ndarray, bits: int) -> np.ndarray:
    """A matrix [rows, k] as tiles of 128 rows of 128 bytes, 16-byte pieces exchanged as the 128-byte swizzle has them."""
    raw = patterns.astype({8: np.uint8, 16: np.uint16}[bits]).view(np.uint8)
    rows, width = raw.shape
    pieces = raw.reshape(rows // 128, 128, width // 128, 8, 16)
    out = np.zeros_like(pieces)
    for r in range(128):
        for c in range(8):
            out[:, r, :, c ^ r % 8] = pieces[:, r, :, c]
    return np.ascontiguousarray(out.transpose(0, 2, 1, 3, 4))


def whole(image: Image, patterns: np.ndarray, bits: int) -> bytes:
    """A tensor map of a plain matrix [rows, k] in device memory, tiles of 128 rows of 128 bytes with the 128-byte swizzle."""
    raw = patterns.astype({8: np.uint8, 16: np.uint16}[bits])
    address = image.arena.allocate(raw.nbytes, "matrix")
    image.arena.write(address, raw)
    rows, k = raw.shape
    return tensormap(
        "u8" if bits == 8 else "u16", address, (k, rows), (raw.strides[0],), (1024 // bits, 128), swizzle="128B"
    )


def product(kernel: str, cubin: bytes) -> None:
    rng = np.random.default_rng(5)
    type_ = KINDS[kernel]
    tiles_k, m, n = 5, 128, 256
    k = tiles_k * 1024 // BITS[type_]
    pa, pb = random_patterns(rng, (m, k), type_), random_patterns(rng, (n, k), type_)
    image = load(cubin)
    if kernel.startswith("gemm"):
        operands: list[object] = [tiled(pa, BITS[type_]), tiled(pb, BITS[type_])]
    else:
        operands = [whole(image, pa, BITS[type_]), whole(image, pb, BITS[type_])]
    out = np.zeros((m, n), np.float32)
    image.launch(kernel, (n // 128, m // 128), 384, [*operands, out, tiles_k, n], shared=SHARED, max_steps=100_000)
    want = values(pa, type_) @ values(pb, type_).T
    # Each instruction rounds its sum once.
    np.testing.assert_allclose(out, want, rtol=2e-5, atol=2e-4)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_product(compiler: str) -> None:
    product("tensor_f16", cubin(compiler, "tensor_f16"))


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
@pytest.mark.parametrize("kernel", ["gemm_f16", "gemm_e4m3", "tensor_bf16"])
def test_products(kernel: str, compiler: str) -> None:
    product(kernel, cubin(compiler, kernel, True))


def figures(data: bytes, kernel: str) -> tuple[int, int]:
    """Registers and instructions."""
    code = Reader(data).kernels[kernel]
    words = [code.code[i : i + 16] for i in range(0, len(code.code), 16)]
    # Not counted: the padding after the last branch.
    while int.from_bytes(words[-1], "little") & 0xFFF == 0x918:
        words.pop()
    return code.num_regs, len(words)


def test_size_beside_ptxas() -> None:
    """At most 1.2 times the instructions and 1.1 times the registers of ptxas -O3."""
    kernel = "tensor_f16"
    ours, theirs = (figures(cubin(c, kernel), kernel) for c in ("orias", "ptxas"))
    assert ours[0] <= 1.1 * theirs[0]
    assert ours[1] <= 1.2 * theirs[1]
