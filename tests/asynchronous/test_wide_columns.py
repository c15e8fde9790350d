"""Copies of modes im2col::w and im2col::w::128 in the simulator, against what the PTX description says.

Where the pixels of a halo lie is a guess (docs/simulator.md), so these programs are for the simulator only.
"""

from itertools import product

import numpy as np
import pytest

from orias.sim import tensormap
from tests.asynchronous.copy_programs import issued, swizzle
from tests.asynchronous.harness import LATER, OUT, Program, Words, copy_out
from tests.asynchronous.later_programs import DONE, later

_CHANNELS = 8
_PIXELS = 20
_IMAGES = {3: (6, 40), 4: (6, 3, 13), 5: (5, 3, 2, 8)}
"""Dimensions above the channels of the input, W first and the number of images last, by rank."""


def _pixels(rank: int, mode: str, halo: int, offset: int, start: tuple[int, ...], step: int) -> list[tuple[int, ...]]:
    """Coordinates (W, H, D, image) of the pixels, in the order of shared memory."""
    w, *others, image = start
    lower, upper = -1, _IMAGES[rank][0] - 2
    walk = []
    for _ in range(200):
        walk.append((w + offset, *others, image))
        w += step
        if w > upper:
            w, image = lower, image + 1
    if mode == "im2col::w":
        return walk[: _PIXELS + halo]
    return walk[:128] + [walk[32 * group + k] for k in range(halo) for group in (1, 2, 3, 4)]


def _program(rank: int, mode: str, halo: int, offset: int, step: int, to: str, families: tuple[str, ...]) -> Program:
    dims = (_CHANNELS, *_IMAGES[rank])
    strides = [int(4 * np.prod(dims[: d + 1])) for d in range(rank - 1)]
    start = (2, *([1] * (rank - 3)), 1)
    pixels = _pixels(rank, mode, halo, offset, start, step)
    count = len(pixels) * _CHANNELS
    # The output takes a part of the pixels; the last ones hold the halo.
    first = max(0, count - OUT) if halo else 0

    def want(source: Words) -> Words:
        a = source[: int(np.prod(dims))].reshape(dims[::-1])
        out = np.zeros((len(pixels), _CHANNELS), np.uint32)
        for k, at in enumerate(pixels):
            if all(0 <= x < n for x, n in zip(at, dims[1:], strict=True)):
                out[k] = a[tuple(reversed(at))]
        return swizzle(out.reshape(-1), 1)[first : first + OUT]

    inner = rank - 2
    code = (
        f"mov.u16 %h1, {halo}; mov.u16 %h2, {offset};"
        f" cp.async.bulk.tensor.{rank}d.{to}.global.{mode}.{DONE} [smem], [%tm, {{0, {', '.join(map(str, start))}}}], [mb], {{%h1, {offset if halo else '%h2'}}};"
    )
    return later(
        f"{mode} {rank}d {to} {halo} {offset} {step}", issued(code, 4 * count) + copy_out(min(count, OUT), 4 * first), want, families,
        map_=lambda at: tensormap(
            "u32", at, dims, strides, corners=([-1] * inner, [-1] * inner), channels=_CHANNELS, pixels=_PIXELS, swizzle="32B",
            steps=(1, step, *([1] * inner)),
        ),
    )  # fmt: skip


def _programs() -> list[tuple[Program, str]]:
    out = []
    for k, (rank, mode, (halo, offset), step) in enumerate(
        product((3, 4, 5), ("im2col::w", "im2col::w::128"), ((0, 0), (2, 0), (1, 2), (0, 1)), (1, 2))
    ):
        tensor = mode == "im2col::w::128" or k % 2
        families = ("100", "103", "110") if tensor else ()
        p = _program(rank, mode, halo, offset, step, "shared::cluster" if tensor else "shared::cta", families)
        out += [(p, arch) for arch in LATER if p.fits(arch)]
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("compiler", ["orias", "ptxas", "ptx"])
@pytest.mark.parametrize(("p", "arch"), _programs()[::17], ids=str)
def test_some(p: Program, arch: str, compiler: str) -> None:
    assert not p.run(compiler, arch, 3)


@pytest.mark.sweep
@pytest.mark.parametrize("compiler", ["orias", "ptxas", "ptx"])
@pytest.mark.parametrize(("p", "arch"), _programs(), ids=str)
def test_all(p: Program, arch: str, compiler: str) -> None:
    assert not p.run(compiler, arch, 3)
