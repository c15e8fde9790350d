"""Textures, surfaces and samplers of a launch: what a kernel's handles stand for, made anew for every run."""

from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import KINDS, Texture

Arr = npt.NDArray[Any]
ROLES: Final = ("texture", "surface", "sampler")
_EXTENT: Final[dict[int, tuple[int, ...]]] = {1: (256,), 2: (32, 64), 3: (8, 16, 32)}
"""Number of coordinates -> texels along (z, y,) x."""
_LAYERS, _FACES, _SIDE, _SAMPLES = 4, 6, 32, 4
_CHANNELS: Final = 4
_TEXELS: Final[dict[str, str]] = {"f32": "f4", "f16": "f2", "f16x2": "f2", "s32": "i2", "u32": "u1"}
"""Type of the components that a kernel reads -> type of the texels."""


@final
class Handle:
    """What a handle stands for: its role, the geometry and type of texels by the words of PTX, and the seed of the contents."""

    def __init__(self, role: str, kind: str = "2d", type_: str = "f32", seed: int = 0) -> None:
        self.role = role
        self.kind = kind
        self.type = type_
        self.seed = seed

    def make(self) -> Texture | Surface | Sampler:
        """The object, with point sampling: results of filters are not exact."""
        if self.role == "sampler":
            return Sampler()
        shape = _EXTENT[KINDS[self.kind]]
        if "cube" in self.kind:
            shape = (_FACES, _SIDE, _SIDE)
        elif self.kind.endswith("ms"):
            shape = (_SAMPLES, *shape)
        if self.kind.startswith("a"):
            shape = (_LAYERS, *shape)
        rng = np.random.default_rng(self.seed)
        if self.role == "surface":
            words: Arr = rng.integers(0, 1 << 16, (*shape, _CHANNELS), dtype=np.uint32)
            return Surface(words, self.kind, channels=_CHANNELS)
        texels = rng.integers(0, 256, (*shape, _CHANNELS), dtype=np.uint8).astype(_TEXELS.get(self.type, "u1"))
        return Texture(texels, self.kind, channels=_CHANNELS)

    def json(self) -> dict[str, Any]:
        """The description as a JSON object."""
        return {"role": self.role, "kind": self.kind, "type": self.type, "seed": self.seed}


def handle_of(d: dict[str, Any]) -> Handle:
    """The inverse of :meth:`Handle.json`; raises ValueError for what is none."""
    role, kind, type_, seed = d.get("role", "texture"), d.get("kind", "2d"), d.get("type", "f32"), d.get("seed", 0)
    if role not in ROLES or kind not in KINDS or not isinstance(type_, str):
        raise ValueError(f"a handle is a texture, surface or sampler of a known kind, not {d!r}")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed of a handle is a whole number, not {seed!r}")
    found = Handle(role, kind, type_, seed)
    if role == "surface" and kind not in ("1d", "2d", "3d", "a1d", "a2d"):
        raise ValueError(f"surfaces are not {kind}")
    return found
