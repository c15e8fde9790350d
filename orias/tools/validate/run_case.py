"""Runs a case on an image, and compares the memory after it."""

from collections.abc import Callable
from typing import Any, Final, Protocol, final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import Module
from orias.sim.core.banked_memory import GLOBAL_BASE, Arena
from orias.sim.core.image import Image
from orias.sim.core.launch import Result
from orias.sim.core.sim_errors import SimError
from orias.sim.core.state import Machine
from orias.sim.ori import OriImage
from orias.sim.ptx import CANONICAL, CHOICES, Choice, PtxImage
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture
from orias.tools.validate.case import Case

Arr = npt.NDArray[Any]
REGIONS_FROM: Final = 1 << 22
"""Arena offset of the first region: the same in every image, so that stored pointers compare."""


class Runnable(Protocol):
    """The common interface of images of PTX, Ori and SASS."""

    arena: Arena
    variables: dict[str, tuple[int, int]]
    watch: Any

    @property
    def bind(self) -> Callable[[str, Texture | Surface | Sampler], None]:
        """Binds an object to a reference."""
        ...

    @property
    def launch(self) -> Callable[..., Result]:
        """Runs a kernel."""
        ...


@final
class Outcome:
    """Memory after a launch: regions in order and then surfaces, module variables by name; ``error`` if it failed (with the memory at that point)."""

    def __init__(self) -> None:
        self.regions: list[Arr] = []
        self.variables: dict[str, Arr] = {}
        self.output = ""
        self.error: SimError | None = None
        self.writer = -1
        """Address (PTX: line) of the instruction that wrote the watched word last; -1: none."""
        self.instructions = 0


Place = tuple[str, int]
"""(region or variable, byte offset) of a word."""


def run(image: Runnable, case: Case, watch: Place | None = None, **options: Any) -> Outcome:
    """Launches the case on a fresh image, that is, one without earlier launches.

    `options`: further keywords of the image's ``launch``.
    """
    arena = image.arena
    if arena.top > REGIONS_FROM:
        raise SimError("the module's variables need too much memory")
    arena.top = REGIONS_FROM
    params = [bytearray(p) for p in case.params]
    places: list[tuple[int, int]] = []
    for (k, offset), region in case.pointers.items():
        address = arena.allocate(region.size, f"parameter {k}+{offset}")
        data = region.bytes()
        places.append((address, region.size))
        if region.inner is not None:
            inner = arena.allocate(region.inner.size, f"what parameter {k}+{offset} points to")
            arena.write(inner, region.inner.bytes())
            places.append((inner, region.inner.size))
            data = np.full(-(-region.size // 8), inner + region.inner.start, np.uint64).view(np.uint8)[: region.size]
        arena.write(address, data)
        params[k][offset : offset + 8] = (address + region.start).to_bytes(8, "little")
    surfaces: list[Surface] = []
    for (k, offset), handle in case.handles.items():
        thing = handle.make()
        params[k][offset : offset + 8] = arena.handle(thing).to_bytes(8, "little")
        if isinstance(thing, Surface):
            surfaces.append(thing)
    for name, handle in case.references.items():
        thing = handle.make()
        image.bind(name, thing)
        if isinstance(thing, Surface):
            surfaces.append(thing)
    out = Outcome()
    if watch is not None and not (watch[0].startswith("#") and int(watch[0][1:]) >= len(places)):
        image.watch = _Watch(arena, _address_of(image, watch, places), out)
    try:
        result = image.launch(
            case.kernel, case.grid, case.block, [bytes(p) for p in params], case.shared, case.max_steps, **options
        )
        out.output, out.instructions = result.output, result.instructions
    except SimError as e:
        out.error = e
    for address, size in places:
        at = address - GLOBAL_BASE
        out.regions.append(arena.data[at : at + size].copy())
    out.regions.extend([s.bytes().copy() for s in surfaces])
    for name, (address, size) in image.variables.items():
        at = address - GLOBAL_BASE
        if 0 <= at < len(arena.data) and not (isinstance(image, PtxImage) and name in image.code_pointers):
            out.variables[name] = arena.data[at : at + size].copy()
    return out


def _address_of(image: Runnable, place: Place, places: list[tuple[int, int]]) -> int:
    name, offset = place
    base = places[int(name[1:])][0] if name.startswith("#") else image.variables[name][0]
    return base + (offset & ~3)


class _Watch:
    """Notes which instruction changes a word."""

    def __init__(self, arena: Arena, address: int, out: Outcome) -> None:
        self.arena, self.at, self.out = arena, address - GLOBAL_BASE, out
        self.value = self._read()

    def _read(self) -> bytes:
        return self.arena.data[self.at : self.at + 4].tobytes()

    def __call__(self, m: Machine, address: int) -> None:
        now = self._read()
        if now != self.value:
            self.value = now
            self.out.writer = address


def difference(a: Outcome, b: Outcome, mask: Outcome | None = None) -> Place | None:
    """The first byte, among those where the mask is zero, that differs; ("output", 0) for printed text, ("error", 0) if one failed."""
    if (a.error is None) != (b.error is None):
        return "error", 0
    if a.error is not None:
        return None
    for k, (x, y) in enumerate(zip(a.regions, b.regions, strict=True)):
        d = x != y
        if mask is not None:
            d &= mask.regions[k] == 0
        if d.any():
            return f"#{k}", int(np.argmax(d))
    for name, x in a.variables.items():
        other = b.variables.get(name)
        if other is None or len(other) != len(x):
            continue
        d = x != other
        if mask is not None and name in mask.variables:
            d &= mask.variables[name] == 0
        if d.any():
            return name, int(np.argmax(d))
    if a.output != b.output:
        return "output", 0
    return None


def _words(d: Arr) -> Arr:
    """A mask of all bytes of every aligned word that has a nonzero byte."""
    padded = np.zeros(-(-len(d) // 4) * 4, np.bool_)
    padded[: len(d)] = d
    return np.repeat(padded.reshape(-1, 4).any(axis=1), 4)[: len(d)].astype(np.uint8)


def open_words(module: Module, arch: str, case: Case, like: Image, canonical: Outcome) -> Outcome | None:
    """A mask of the words that the program leaves undefined; None if it does not define whether the launch ends."""
    mask = Outcome()
    mask.regions = [np.zeros(len(r), np.uint8) for r in canonical.regions]
    mask.variables = {n: np.zeros(len(v), np.uint8) for n, v in canonical.variables.items()}
    for choice in CHOICES:
        other = run(PtxImage(module, arch, choice, like), case)
        if other.error is not None:
            return None
        for k, (x, y) in enumerate(zip(canonical.regions, other.regions, strict=True)):
            mask.regions[k] |= _words(x != y)
        for n, x in canonical.variables.items():
            mask.variables[n] |= _words(x != other.variables[n])
    return mask


__all__ = [
    "CANONICAL", "Choice", "OriImage", "Outcome", "Place", "Runnable", "difference", "open_words", "run",
]  # fmt: skip
