"""Kernels in CUDA C++ with the machine's headers (``cuda/``, built by ``make.sh``): barriers, pipelines, clusters, tensor copies."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orias.sim import Image
from tests.asynchronous.harness import LATER
from tests.device import load, tensormap
from tests.forms.run import our_cubin, ptxas_cubin
from tests.rotation import some_later

HERE = Path(__file__).parent


@functools.lru_cache(maxsize=16)
def cubin(name: str, compiler: str, arch: str, opt: int) -> bytes:
    text = (HERE / "ptx" / f"{name}.{'80' if arch == 'sm_80' else '90'}.ptx").read_text()
    return our_cubin(text, arch, opt) if compiler == "orias" else ptxas_cubin(text, arch, opt)


def numbers(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1000, 1000, n).astype(np.int32)


def pipeline(image: Image) -> None:
    tiles = 5
    source = numbers(tiles * 512)
    out = np.zeros_like(source)
    image.launch("pipeline", 1, 128, [source, out, tiles])
    v = source.reshape(tiles, 128, 4)[:, ::-1].copy()
    v[:, :, 0] += np.arange(tiles, dtype=np.int32)[:, None]
    v[:, :, 1] *= 3
    v[:, :, 2] ^= v[:, :, 3]
    np.testing.assert_array_equal(out.reshape(v.shape), v)


def ring(image: Image) -> None:
    rounds = 7
    source = numbers(rounds * 32)
    out = np.zeros_like(source)
    image.launch("ring", 1, 64, [source, out, rounds])
    rows = source.reshape(rounds, 32) * 2 + np.arange(rounds, dtype=np.int32)[:, None]
    np.testing.assert_array_equal(out.reshape(rounds, 32), np.cumsum(rows[:, ::-1], axis=0))


def staged(image: Image) -> None:
    source = (numbers(96 * 3 * 4) / 8).astype(np.float32)
    out = np.zeros(96, np.float32)
    image.launch("staged", 1, 96, [source, out, 96 * 3])
    v = source.reshape(3, 96, 4)[:, (np.arange(96) * 5 + 1) % 96]
    want = (v[..., 0] + 2 * v[..., 1] - v[..., 2] + v[..., 3] / 2).sum(axis=0)
    np.testing.assert_allclose(out, want, rtol=1e-5)


def histogram(image: Image) -> None:
    source = np.random.default_rng(3).integers(0, 1 << 32, 3000, dtype=np.uint64).astype(np.uint32)
    bins = np.zeros(128, np.uint32)
    image.launch("histogram", 8, 64, [source, bins, len(source)])
    np.testing.assert_array_equal(bins, np.bincount(source & 127, minlength=128))


def reduce(image: Image) -> None:
    source = numbers(8 * 64)
    out = np.zeros(8, np.int32)
    image.launch("reduce", 8, 64, [source, out])
    sums = source.reshape(2, 4, 64).sum(axis=2) * np.arange(1, 5)
    np.testing.assert_array_equal(out, np.repeat(sums.sum(axis=1), 4))


def tiles(image: Image) -> None:
    width, height, count = 60, 21, 4
    source = numbers(64 * height).reshape(height, 64)
    start = image.arena.allocate(source.nbytes, "source")
    image.arena.write(start, source)
    goal = image.arena.allocate(source.nbytes, "goal")
    maps = [tensormap("s32", a, (width, height), (256,), (16, 8)) for a in (start, goal)]
    image.launch("tiles", 3, 128, [*maps, count])
    out = np.frombuffer(image.arena.read(goal, source.nbytes), np.int32).reshape(height, 64)
    padded = np.zeros((24, 64), np.int32)
    padded[:height, :width] = source[:, :width]
    want = (padded.reshape(24, 4, 16)[:, :, ::-1] * 3 + np.arange(count, dtype=np.int32)[None, :, None]).reshape(24, 64)
    np.testing.assert_array_equal(out[:, :width], want[:height, :width])
    assert not out[:, width:].any()


def window(image: Image) -> None:
    n, height, width = 2, 6, 8
    pixels = numbers(n * height * width * 8).reshape(n, height, width, 8)
    at = image.arena.allocate(pixels.nbytes, "image")
    image.arena.write(at, pixels)
    strides = (32, 32 * width, 32 * width * height)
    map_ = tensormap("s32", at, (8, width, height, n), strides, corners=((-1, -1), (-1, -1)), channels=8, pixels=16)
    out = np.zeros_like(pixels)
    image.launch("window", n * height * width // 16, 128, [map_, out, width, height])
    padded = np.pad(pixels, ((0, 0), (1, 1), (1, 1), (0, 0)))
    want = sum(padded[:, k // 3 : k // 3 + height, k % 3 : k % 3 + width] * (k + 1) for k in range(9))
    np.testing.assert_array_equal(out, want)


CASES: list[tuple[str, str, Callable[[Image], Any]]] = [
    (name, arch, f)
    for name, arches, functions in (
        ("pipeline", ("sm_80", "sm_90", *LATER), (pipeline,)),
        ("barrier", ("sm_80", "sm_90", *LATER), (ring, staged)),
        ("cluster", ("sm_90", *LATER), (histogram, reduce)),
        ("tma", ("sm_90", *LATER), (tiles, window)),
    )
    for arch in arches
    for f in functions
]
DEFAULT = [c for n, c in enumerate(CASES) if c[1] not in LATER or LATER[n % 3] == c[1]]
"""What runs by default: of the targets after sm_90, another for each kernel."""
SWEPT = [c for c in CASES if c[1] not in LATER or c[1] in some_later("asynchronous kernels")]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("name", "arch", "check"), DEFAULT, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_ours(name: str, arch: str, check: Callable[[Image], Any]) -> None:
    check(load(cubin(name, "orias", arch, 3)))


@pytest.mark.sweep
@pytest.mark.parametrize(("compiler", "opt"), [("orias", 0), ("orias", 3), ("ptxas", 0), ("ptxas", 3)])
@pytest.mark.parametrize(("name", "arch", "check"), SWEPT, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_levels(name: str, arch: str, check: Callable[[Image], Any], compiler: str, opt: int) -> None:
    check(load(cubin(name, compiler, arch, opt)))
