"""Surfaces: arrays that kernels read and write with surface instructions."""

from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import ArgumentError, Fault, Misaligned, OutOfBounds
from orias.sim.math.ops_int import I64, U8, U32
from orias.sim.texture.texture_object import check_shape

Arr = npt.NDArray[Any]


@final
class Surface:
    """An array that kernels read and write in place; its axes are as in :class:`orias.sim.texture.texture_object.Texture`.

    ``descriptor``: numbers that suq returns, by name of the query.
    """

    __slots__ = ("array", "channels", "descriptor", "kind", "texel")

    def __init__(
        self, array: Arr, kind: str = "2d", *, channels: int = 1, descriptor: dict[str, int] | None = None
    ) -> None:
        check_shape(array, kind, channels)
        if kind not in ("1d", "2d", "3d", "a1d", "a2d"):
            raise ArgumentError(f"surfaces are not {kind}")
        if not array.flags.c_contiguous:
            raise ArgumentError("a surface needs an array without gaps")
        self.array: Final[Arr] = array
        self.kind: Final[str] = kind
        self.channels: Final[int] = channels
        self.texel: Final[int] = array.dtype.itemsize * channels
        """Bytes of a texel."""
        self.descriptor: Final[dict[str, int]] = descriptor or {}

    @property
    def sizes(self) -> list[int]:
        """Texels along x, y, z, then the layers."""
        axes = self.array.shape[: self.array.ndim - (self.channels > 1)]
        if self.kind.startswith("a"):
            return [*axes[:0:-1], axes[0]]
        return list(axes[::-1])

    def offsets(self, coords: list[Arr], size: int, mode: str) -> tuple[Arr, Arr]:
        """Byte offsets of accesses of `size` bytes at (x in bytes, y, z or layer), and which of them are outside.

        `mode`: trap (a Fault), clamp (to the nearest position), zero (reads give 0, writes have no effect).
        """
        limits = self.sizes
        rows = [limits[0] * self.texel, *limits[1:]]
        x = coords[0].astype(np.int32).astype(I64)
        if (x % size).any():
            raise Fault(
                Misaligned,
                f"surface access of {size} bytes at byte {int(x[np.argmax(x % size != 0)])}",
                int(np.argmax(x % size != 0)),
            )
        at, outside = np.zeros(len(x), I64), np.zeros(len(x), np.bool_)
        scale = 1
        for k, n in enumerate(rows):
            v = x if k == 0 else coords[k].astype(np.int32).astype(I64) if k < len(coords) else np.zeros(len(x), I64)
            last = n - size if k == 0 else n - 1
            outside |= (v < 0) | (v > last)
            at = at + np.clip(v, 0, last) * scale
            scale *= n
        if mode == "trap" and outside.any():
            i = int(np.argmax(outside))
            raise Fault(OutOfBounds, f"surface access outside at ({', '.join(str(int(c[i])) for c in coords)})", i)
        return at, outside

    def bytes(self) -> Arr:
        """The memory of the array."""
        return self.array.reshape(-1).view(U8)

    def load(self, coords: list[Arr], size: int, mode: str) -> list[Arr]:
        """Reads words (one, of less than 32 bits, for small sizes)."""
        at, outside = self.offsets(coords, size, mode)
        raw = self.bytes()[at[:, None] + np.arange(size)]
        if mode == "zero":
            raw[outside] = 0
        if size < 4:
            return [np.ascontiguousarray(raw).view(f"u{size}")[:, 0].astype(U32)]
        words = np.ascontiguousarray(raw).view(U32)
        return [np.ascontiguousarray(words[:, k]) for k in range(size // 4)]

    def store(self, coords: list[Arr], size: int, words: list[Arr], mode: str) -> None:
        """Writes words; where positions are equal the last thread wins."""
        at, outside = self.offsets(coords, size, mode)
        data = np.stack([np.ascontiguousarray(w.astype(U32)) for w in words], axis=1).view(U8)[:, :size]
        keep = ~outside if mode == "zero" else np.ones(len(at), np.bool_)
        memory = self.bytes()
        for offset, row in zip(at[keep], data[keep], strict=True):
            memory[offset : offset + size] = row

    def store_formatted(self, coords: list[Arr], words: list[Arr], mode: str) -> None:
        """Converts components (f32 patterns, or integers, by the array's type) to texels and writes them; x is in texels.

        PTX does not define the conversion: here integers are clamped to the range of the texel and floats rounded to
        nearest even.  Missing components are 0.
        """
        kind = self.array.dtype.kind
        parts = []
        for k in range(self.channels):
            w = np.ascontiguousarray(words[k].astype(U32)) if k < len(words) else np.zeros(len(words[0]), U32)
            if kind == "f":
                v: Arr = w.view(np.float32)
            else:
                limits = np.iinfo(self.array.dtype)
                v = np.clip((w.view(np.int32) if kind == "i" else w).astype(I64), limits.min, limits.max)
            with np.errstate(over="ignore"):
                parts.append(v.astype(self.array.dtype))
        raw = np.stack(parts, axis=1).view(U8).reshape(len(parts[0]), self.texel)
        padded = np.zeros((len(raw), 16), U8)
        padded[:, : self.texel] = raw
        data = padded.view(U32)
        place = [(coords[0].astype(I64) * self.texel).astype(np.int32), *coords[1:]]
        self.store(place, self.texel, [data[:, k] for k in range(max(1, self.texel // 4))], mode)
