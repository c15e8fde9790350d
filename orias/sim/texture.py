"""Textures and surfaces: what an array of texels looks like through a sampler.

Filtering as the CUDA programming guide describes it (texture fetching): point sampling takes the texel at the floor of the coordinate;
linear filtering goes between the neighbours of ``x - 0.5`` with weights of eight fractional bits.  No document says how weights,
scaled coordinates and sums are rounded: here coordinates are exact, weights are rounded to nearest and sums once, to f32.
Components that a texture lacks read as 0, the fourth as 1; texels outside are 0 for integer coordinates and with the mode border.
"""

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.errors import ArgumentError, Fault, IllegalInstruction, Misaligned, OutOfBounds
from orias.sim.ops_int import I64, U8, U32

Arr = npt.NDArray[Any]

_KINDS: Final[dict[str, int]] = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
"""Dimensions without the layers."""
_ADDRESS: Final = ("clamp", "border", "wrap", "mirror")
_TYPES: Final = ("u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4")
_WEIGHT: Final = 256.0


def _shape(array: Arr, kind: str, channels: int) -> None:
    axes = _KINDS.get(kind, 0) + kind.startswith("a") + (channels > 1)
    if kind not in _KINDS or channels not in (1, 2, 4) or array.ndim != axes or 0 in array.shape:
        raise ArgumentError(f"an array of shape {array.shape} is no texture {kind} of {channels} channels")
    if channels > 1 and array.shape[-1] != channels:
        raise ArgumentError(f"the last axis of an array with {channels} channels has {array.shape[-1]} elements")
    if array.dtype.str[1:] not in _TYPES:
        raise ArgumentError(f"texels of type {array.dtype}")


@final
class Texture:
    """An array of texels with a sampler.

    ``levels``: the array of each mip level, or one array; axes (layer,) (z, y,) x (, channel) by ``kind``: 1d, 2d, 3d, a1d, a2d (arrays of
    layers).  ``filter`` and ``mip_filter``: point or linear.  ``address``: clamp, border, wrap or mirror, one or one for each
    dimension x, y, z; wrap and mirror need ``normalized`` coordinates and clamp without.  ``read``: element, or normalized for
    integers of 8 and 16 bits as floats from 0 (-1) to 1.
    """

    __slots__ = ("address", "channels", "kind", "levels", "linear", "mip_linear", "normalized", "read_normalized")

    def __init__(
        self,
        levels: Arr | Sequence[Arr],
        kind: str = "2d",
        *,
        channels: int = 1,
        filter: str = "point",
        mip_filter: str = "point",
        address: str | Sequence[str] = "clamp",
        normalized: bool = False,
        read: str = "element",
    ) -> None:
        every = [levels] if isinstance(levels, np.ndarray) else list(levels)
        for a in every:
            _shape(a, kind, channels)
        modes = [address] * 3 if isinstance(address, str) else [*address, "clamp", "clamp", "clamp"][:3]
        if not set(modes) <= set(_ADDRESS) or not {filter, mip_filter} <= {"point", "linear"}:
            raise ArgumentError(f"texture with address {address}, filter {filter}, mip_filter {mip_filter}")
        if read not in ("element", "normalized") or (
            read == "normalized" and every[0].dtype.str[1:] not in _TYPES[:2] + _TYPES[3:5]
        ):
            raise ArgumentError(f"texture of {every[0].dtype} read as {read}")
        floats = read == "normalized" or every[0].dtype.kind == "f"
        if filter == "linear" and not floats:
            raise ArgumentError("linear filtering of integers")
        self.levels: Final[list[Arr]] = [a if channels > 1 else a[..., None] for a in every]
        self.kind: Final[str] = kind
        self.channels: Final[int] = channels
        self.linear: Final[bool] = filter == "linear"
        self.mip_linear: Final[bool] = mip_filter == "linear"
        self.normalized: Final[bool] = normalized
        self.address: Final[list[str]] = [m if normalized or m == "border" else "clamp" for m in modes]
        self.read_normalized: Final[bool] = read == "normalized"

    @property
    def dims(self) -> int:
        """Dimensions without the layers."""
        return _KINDS[self.kind]

    @property
    def floats(self) -> bool:
        """Results are f32."""
        return self.read_normalized or self.levels[0].dtype.kind == "f"

    def size(self, axis: int, level: int = 0) -> int:
        """Texels along x (0), y, z; 0 for a dimension that the texture lacks."""
        return self.levels[level].shape[self.dims - axis - 1 + self.kind.startswith("a")] if axis < self.dims else 0

    def layers(self) -> int:
        """Layers of an array of textures, else 0."""
        return self.levels[0].shape[0] if self.kind.startswith("a") else 0

    # -- texels

    def _values(self, texels: Arr) -> Arr:
        """Texels as f64 or i64 values."""
        if texels.dtype.kind == "f":
            return texels.astype(np.float64)
        if not self.read_normalized:
            return texels.astype(I64)
        top = float(np.iinfo(texels.dtype).max)
        result: Arr = np.maximum(texels.astype(np.float64) / top, -1.0)
        return result

    def _texel(self, level: int, layer: Arr, place: list[Arr], outside: Arr) -> Arr:
        """Values [threads, channels] at checked places, 0 where `outside`."""
        index = tuple(place[::-1])
        if self.kind.startswith("a"):
            index = (layer, *index)
        v = self._values(self.levels[level][index])
        result: Arr = np.where(outside[:, None], v.dtype.type(0), v)
        return result

    def _wrapped(self, axis: int, i: Arr, n: int) -> tuple[Arr, Arr]:
        """Texel numbers within 0..n-1 by the address mode, and which are outside (border)."""
        mode = self.address[axis]
        none = np.zeros(len(i), np.bool_)
        if mode == "wrap":
            return i % n, none
        if mode == "mirror":
            turn = i % (2 * n)
            return np.where(turn < n, turn, 2 * n - 1 - turn), none
        inside = np.clip(i, 0, n - 1)
        return inside, (inside != i) if mode == "border" else none

    def _level(self, level: int, layer: Arr, coords: list[Arr]) -> Arr:
        """Samples of one level: values [threads, channels]."""
        sizes = [self.size(k, level) for k in range(self.dims)]
        at = [
            np.clip(np.nan_to_num(c.astype(np.float64)) * (n if self.normalized else 1), -(2.0**40), 2.0**40)
            for c, n in zip(coords, sizes, strict=False)
        ]
        if not self.linear:
            places = [self._wrapped(k, np.floor(x).astype(I64), sizes[k]) for k, x in enumerate(at)]
            return self._texel(level, layer, [p for p, _ in places], np.logical_or.reduce([o for _, o in places]))
        low = [np.floor(x - 0.5) for x in at]
        weight = [np.rint((x - 0.5 - f) * _WEIGHT) / _WEIGHT for x, f in zip(at, low, strict=True)]
        total: Any = 0.0
        for corner in range(1 << self.dims):
            part: Arr = np.ones(len(at[0]))
            places = []
            for k in range(self.dims):
                up = corner >> k & 1
                places.append(self._wrapped(k, low[k].astype(I64) + up, sizes[k]))
                part = part * (weight[k] if up else 1.0 - weight[k])
            v = self._texel(level, layer, [p for p, _ in places], np.logical_or.reduce([o for _, o in places]))
            total = total + np.where(part[:, None] != 0, v * part[:, None], 0.0)
        result: Arr = total
        return result

    def _words(self, v: Arr) -> list[Arr]:
        """Values [threads, channels] as the words of four components."""
        n = len(v)
        if self.floats:
            out = [np.ascontiguousarray(v[:, k].astype(np.float32)).view(U32) for k in range(self.channels)]
            one: int = 0x3F800000
        else:
            out = [v[:, k].astype(U32) for k in range(self.channels)]
            one = 1
        out += [np.zeros(n, U32) for _ in range(4 - self.channels)]
        if self.channels < 4:
            out[3] = np.full(n, one, U32)
        return out

    def _layer(self, layer: Arr | None, n: int) -> Arr:
        if layer is None or not self.layers():
            return np.zeros(n, I64)
        result: Arr = np.minimum(layer.astype(I64), self.layers() - 1)
        return result

    def sample(self, coords: list[Arr], layer: Arr | None = None, lod: Arr | None = None) -> list[Arr]:
        """Words of the four components at f32 coordinates; `lod`: level of detail, f32 (None: the first level)."""
        n = len(coords[0])
        where = self._layer(layer, n)
        top = len(self.levels) - 1
        if lod is None or top == 0:
            return self._words(self._level(0, where, coords))
        detail = np.clip(np.nan_to_num(lod.astype(np.float64)), 0, top)
        low = (np.floor(detail) if self.mip_linear else np.floor(detail + 0.5)).astype(I64)
        weight = np.rint((detail - low) * _WEIGHT) / _WEIGHT if self.mip_linear else np.zeros(n)
        out = np.zeros((n, self.channels), np.float64 if self.floats else I64)
        for level in range(top + 1):
            for first, share in ((low, 1.0 - weight), (low + 1, weight)):
                who = np.flatnonzero((first == level) & (share > 0))
                if len(who):
                    v = self._level(level, where[who], [c[who] for c in coords])
                    out[who] += (v * share[who][:, None]).astype(out.dtype) if self.floats else v
        return self._words(out)

    def fetch(self, coords: list[Arr], layer: Arr | None = None, level: int = 0) -> list[Arr]:
        """Words of the texels at integer coordinates (int32)."""
        n = len(coords[0])
        if not 0 <= level < len(self.levels):
            return self._words(np.zeros((n, self.channels)))
        outside = np.zeros(n, np.bool_)
        place = []
        for k in range(self.dims):
            i, size = coords[k].astype(I64), self.size(k, level)
            outside |= (i < 0) | (i >= size)
            place.append(np.clip(i, 0, size - 1))
        return self._words(self._texel(level, self._layer(layer, n), place, outside))

    def gather(self, component: int, coords: list[Arr]) -> list[Arr]:
        """A component of the four texels around a place of a 2d texture: (0, 1), (1, 1), (1, 0), (0, 0) in (x, y) steps."""
        if self.dims != 2:
            raise ArgumentError("tld4 on a texture that is not 2d")
        sizes = [self.size(k) for k in range(2)]
        low = [
            np.floor(np.nan_to_num(c.astype(np.float64)) * (n if self.normalized else 1) - 0.5).astype(I64)
            for c, n in zip(coords, sizes, strict=True)
        ]
        out = []
        for dx, dy in ((0, 1), (1, 1), (1, 0), (0, 0)):
            (x, a), (y, b) = self._wrapped(0, low[0] + dx, sizes[0]), self._wrapped(1, low[1] + dy, sizes[1])
            out.append(self._words(self._texel(0, self._layer(None, len(x)), [x, y], a | b))[component])
        return out


@final
class Surface:
    """An array that kernels read and write by surface instructions; axes as in :class:`Texture`.  It is written in place."""

    __slots__ = ("array", "channels", "kind", "texel")

    def __init__(self, array: Arr, kind: str = "2d", *, channels: int = 1) -> None:
        _shape(array, kind, channels)
        if not array.flags.c_contiguous:
            raise ArgumentError("a surface needs an array without gaps")
        self.array: Final[Arr] = array
        self.kind: Final[str] = kind
        self.channels: Final[int] = channels
        self.texel: Final[int] = array.dtype.itemsize * channels
        """Bytes of a texel."""

    @property
    def sizes(self) -> list[int]:
        """Texels along x, y, z, then the layers."""
        axes = self.array.shape[: self.array.ndim - (self.channels > 1)]
        if self.kind.startswith("a"):
            return [*axes[:0:-1], axes[0]]
        return list(axes[::-1])

    def offsets(self, coords: list[Arr], size: int, mode: str) -> tuple[Arr, Arr]:
        """Byte offsets of accesses of `size` bytes at (x in bytes, y, z or layer), and which of them are outside.

        `mode`: trap (a Fault), clamp (the nearest place), zero (reads give 0, writes nothing).
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
        """Words (one of less than 32 bits for small sizes) read."""
        at, outside = self.offsets(coords, size, mode)
        raw = self.bytes()[at[:, None] + np.arange(size)]
        if mode == "zero":
            raw[outside] = 0
        if size < 4:
            return [np.ascontiguousarray(raw).view(f"u{size}")[:, 0].astype(U32)]
        words = np.ascontiguousarray(raw).view(U32)
        return [np.ascontiguousarray(words[:, k]) for k in range(size // 4)]

    def store(self, coords: list[Arr], size: int, words: list[Arr], mode: str) -> None:
        """Words written; with equal places the last thread wins."""
        at, outside = self.offsets(coords, size, mode)
        data = np.stack([np.ascontiguousarray(w.astype(U32)) for w in words], axis=1).view(U8)[:, :size]
        keep = ~outside if mode == "zero" else np.ones(len(at), np.bool_)
        memory = self.bytes()
        for offset, row in zip(at[keep], data[keep], strict=True):
            memory[offset : offset + size] = row


def lookup(objects: dict[int, Any], handle: int, kind: type[Any], lane: int) -> Any:
    """The object of a handle; a Fault if there is none."""
    found = objects.get(handle & 0xFFFFFFFF)
    if not isinstance(found, kind):
        raise Fault(IllegalInstruction, f"0x{handle:x} is no handle of a {kind.__name__.lower()}", lane)
    return found
