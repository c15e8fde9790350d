"""Textures: arrays of texels, read through a sampler.

Filtering follows the CUDA programming guide (texture fetching).  Point sampling takes the texel at the floor of the
coordinate; linear filtering interpolates between the neighbours of ``x - 0.5`` with weights of eight fractional bits.
The rounding of weights, scaled coordinates and sums is not documented: here coordinates are exact, weights are rounded
to nearest, and sums are rounded once, to f32.  Components that a texture lacks read as 0, the fourth as 1; texels
outside are 0 for integer coordinates and with the mode border.
"""

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import ArgumentError, Fault, IllegalInstruction
from orias.sim.math.ops_int import I64, U32
from orias.sim.texture import cube
from orias.sim.texture.sampler import COMPARE, Sampler

Arr = npt.NDArray[Any]

KINDS: Final[dict[str, int]] = {
    "1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2, "2dms": 2, "a2dms": 2,
}  # fmt: skip
"""Number of coordinates of a texel, without layers, faces and samples."""
_TYPES: Final = ("u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4")
_WEIGHT: Final = 256.0
_LARGE: Final = 2.0**40


def check_shape(array: Arr, kind: str, channels: int) -> None:
    """An ArgumentError unless an array can hold the texels of a kind of texture or surface."""
    outer = kind.startswith("a") + ("cube" in kind or kind.endswith("ms"))
    axes = KINDS.get(kind, 0) + outer + (channels > 1)
    if kind not in KINDS or channels not in (1, 2, 4) or array.ndim != axes or 0 in array.shape:
        raise ArgumentError(f"an array of shape {array.shape} is no texture {kind} of {channels} channels")
    if channels > 1 and array.shape[-1] != channels:
        raise ArgumentError(f"the last axis of an array with {channels} channels has {array.shape[-1]} elements")
    if "cube" in kind and (array.shape[outer - 1] != cube.FACES or array.shape[outer] != array.shape[outer + 1]):
        raise ArgumentError(f"an array of shape {array.shape} is not six square faces")
    if array.dtype.str[1:] not in _TYPES:
        raise ArgumentError(f"texels of type {array.dtype}")


@final
class Request:
    """The operands of a fetch besides the coordinates, with a value per thread.

    ``layer``; ``lod`` (level of detail, f32) or ``level`` (of an integer fetch); ``offsets`` in texels, one array per
    dimension; ``depth``, the reference depth (f32); ``sample`` of a multisample texture; ``sampler``, if not the
    texture's own.
    """

    __slots__ = ("depth", "layer", "level", "lod", "offsets", "sample", "sampler")

    def __init__(self) -> None:
        self.layer: Arr | None = None
        self.lod: Arr | None = None
        self.level: Arr | None = None
        self.offsets: list[Arr] | None = None
        self.depth: Arr | None = None
        self.sample: Arr | None = None
        self.sampler: Sampler | None = None

    def some(self, who: Arr) -> "Request":
        """The request of some of the threads."""

        def part(v: Arr | None) -> Arr | None:
            return None if v is None else v[who]

        r = Request()
        r.layer, r.lod, r.level, r.depth = part(self.layer), part(self.lod), part(self.level), part(self.depth)
        r.sample, r.sampler = part(self.sample), self.sampler
        r.offsets = None if self.offsets is None else [v[who] for v in self.offsets]
        return r


@final
class Texture:
    """An array of texels with a sampler of its own.

    ``levels``: the array of each mip level, or one array, with axes (layer,) (face,) (sample,) (z, y,) x (, channel) by
    ``kind``: 1d, 2d, 3d, cube (six square faces), 2dms (samples), and a1d, a2d, acube, a2dms (arrays of layers).
    ``sampler``: a Sampler, or its arguments by name.  ``read``: element, or normalized for 8- and 16-bit integers as
    floats from 0 (-1) to 1.  ``absent``: an array of booleans, one per texel of the first level, true for texels that
    are not resident: they read as 0, and the destination predicate of a fetch tells.  ``descriptor``: numbers that txq
    returns, by name of the query.
    """

    __slots__ = ("absent", "channels", "descriptor", "kind", "levels", "read_normalized", "sampler")

    def __init__(
        self,
        levels: Arr | Sequence[Arr],
        kind: str = "2d",
        *,
        channels: int = 1,
        read: str = "element",
        sampler: Sampler | None = None,
        absent: Arr | None = None,
        descriptor: dict[str, int] | None = None,
        **look: Any,
    ) -> None:
        every = [levels] if isinstance(levels, np.ndarray) else list(levels)
        for a in every:
            check_shape(a, kind, channels)
        if sampler is not None and look:
            raise ArgumentError("a sampler and arguments of another")
        if read not in ("element", "normalized") or (
            read == "normalized" and every[0].dtype.str[1:] not in ("u1", "u2", "i1", "i2")
        ):
            raise ArgumentError(f"texture of {every[0].dtype} read as {read}")
        self.levels: Final[list[Arr]] = [a if channels > 1 else a[..., None] for a in every]
        self.kind: Final[str] = kind
        self.channels: Final[int] = channels
        self.read_normalized: Final[bool] = read == "normalized"
        self.sampler: Final[Sampler] = Sampler(**look) if sampler is None else sampler
        self.absent: Final[Arr | None] = absent
        self.descriptor: Final[dict[str, int]] = descriptor or {}
        if absent is not None and (absent.shape != self.levels[0].shape[:-1] or absent.dtype != np.bool_):
            raise ArgumentError(f"absent texels of shape {absent.shape} and type {absent.dtype}")
        self.check(self.sampler)

    def check(self, sampler: Sampler) -> None:
        """An ArgumentError if the sampler cannot be used with the texture."""
        if sampler.linear and not self.floats:
            raise ArgumentError("linear filtering of integers")

    @property
    def dims(self) -> int:
        """Number of coordinates of a texel, without layers, faces and samples."""
        return KINDS[self.kind]

    @property
    def is_cube(self) -> bool:
        """True if coordinates are directions."""
        return "cube" in self.kind

    @property
    def floats(self) -> bool:
        """True if results are f32."""
        return self.read_normalized or self.levels[0].dtype.kind == "f"

    def size(self, axis: int, level: int = 0) -> int:
        """Texels along x (0), y, z; 0 for a dimension or level that the texture lacks."""
        if not 0 <= level < len(self.levels) or axis >= self.dims:
            return 0
        return int(self.levels[level].shape[-2 - axis])

    def layers(self) -> int:
        """Number of layers; 0 if the texture is not an array."""
        return self.levels[0].shape[0] if self.kind.startswith("a") else 0

    def samples(self) -> int:
        """Samples per texel."""
        return self.levels[0].shape[-4] if self.kind.endswith("ms") else 1

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

    def _words(self, v: Arr) -> list[Arr]:
        """Values [threads, channels] as the words of four components."""
        n = len(v)
        if self.floats or v.dtype.kind == "f":
            out = [np.ascontiguousarray(v[:, k].astype(np.float32)).view(U32) for k in range(v.shape[1])]
            one: int = 0x3F800000
        else:
            out = [v[:, k].astype(U32) for k in range(v.shape[1])]
            one = 1
        missing = 4 - len(out)
        out += [np.zeros(n, U32) for _ in range(missing)]
        if missing:
            out[3] = np.full(n, one, U32)
        return out

    def _outer(self, r: Request, n: int, face: Arr | None) -> tuple[Arr, ...]:
        """The indices before those of the coordinates: layer, face, sample."""
        out: list[Arr] = []
        if self.layers():
            layer = np.zeros(n, I64) if r.layer is None else r.layer.astype(I64)
            out.append(np.minimum(layer, self.layers() - 1))
        if face is not None:
            out.append(face)
        if self.kind.endswith("ms"):
            sample = np.zeros(n, I64) if r.sample is None else r.sample.astype(I64)
            out.append(np.clip(sample, 0, self.samples() - 1))
        return tuple(out)

    # -- sampling

    def sample(self, coords: list[Arr], r: Request) -> tuple[list[Arr], Arr]:
        """(words of the four components, which threads met absent texels) at f32 coordinates."""
        look = _Look(self, coords, r)
        n = len(coords[0])
        top = len(self.levels) - 1
        if r.lod is None or top == 0:
            return self._words(look.level(0, np.arange(n))), look.missing
        detail = np.clip(np.nan_to_num(r.lod.astype(np.float64)), 0, top)
        linear = look.sampler.mip_linear
        low = (np.floor(detail) if linear else np.floor(detail + 0.5)).astype(I64)
        weight = np.rint((detail - low) * _WEIGHT) / _WEIGHT if linear else np.zeros(n)
        total: Arr | None = None
        for level in range(top + 1):
            for first, share in ((low, 1.0 - weight), (low + 1, weight)):
                who = np.flatnonzero((first == level) & (share > 0))
                if not len(who):
                    continue
                v = look.level(level, who)
                if total is None:
                    total = np.zeros((n, v.shape[1]), v.dtype)
                total[who] += v * share[who][:, None] if v.dtype.kind == "f" else v
        assert total is not None
        return self._words(total), look.missing

    def gather(self, component: int, coords: list[Arr], r: Request) -> tuple[list[Arr], Arr]:
        """One component of the four texels around a point: (0, 1), (1, 1), (1, 0), (0, 0) in (x, y) steps."""
        if self.dims != 2:
            raise ArgumentError("tld4 on a texture that is not 2d")
        look = _Look(self, coords, r)
        low = [np.floor(x - 0.5).astype(I64) for x in look.scaled(0)]
        every = np.arange(len(coords[0]))
        out = []
        for dx, dy in ((0, 1), (1, 1), (1, 0), (0, 0)):
            v = look.texels(0, every, [low[0] + dx, low[1] + dy])
            out.append(self._words(v)[0 if r.depth is not None else component])
        return out, look.missing

    def fetch(self, coords: list[Arr], r: Request) -> tuple[list[Arr], Arr]:
        """(words of the four components, which threads met absent texels) at integer coordinates (int32)."""
        n = len(coords[0])
        wanted = np.zeros(n, I64) if r.level is None else r.level.view(np.int32).astype(I64)
        out = [np.zeros(n, U32) for _ in range(4)]
        missing = np.zeros(n, np.bool_)
        for level in np.unique(wanted):
            who = np.flatnonzero(wanted == level)
            part, absent = self._fetch_level(int(level), [c[who] for c in coords], r.some(who))
            missing[who] = absent
            for total, v in zip(out, part, strict=True):
                total[who] = v
        return out, missing

    def _fetch_level(self, level: int, coords: list[Arr], r: Request) -> tuple[list[Arr], Arr]:
        n = len(coords[0])
        outside = np.zeros(n, np.bool_)
        if not 0 <= level < len(self.levels):
            return self._words(np.zeros((n, self.channels), np.float64 if self.floats else I64)), outside
        place = []
        for k in range(self.dims):
            i, size = coords[k].astype(I64), self.size(k, level)
            if r.offsets is not None:
                i = i + r.offsets[k]
            outside |= (i < 0) | (i >= size)
            place.append(np.clip(i, 0, size - 1))
        index = (*self._outer(r, n, None), *place[::-1])
        absent = outside & False
        if self.absent is not None and level == 0:
            absent = self.absent[index] & ~outside
        v = self._values(self.levels[level][index])
        return self._words(np.where((outside | absent)[:, None], v.dtype.type(0), v)), absent


@final
class _Look:
    """One fetch: coordinates on their faces, and which threads met absent texels."""

    __slots__ = ("coords", "face", "missing", "request", "sampler", "texture")

    def __init__(self, texture: Texture, coords: list[Arr], r: Request) -> None:
        self.texture: Final[Texture] = texture
        self.request: Final[Request] = r
        self.sampler: Final[Sampler] = texture.sampler if r.sampler is None else r.sampler
        if r.sampler is not None:
            texture.check(r.sampler)
        self.face: Final[Arr | None] = cube.face_of(coords) if texture.is_cube else None
        self.coords: Final[list[Arr]] = coords if self.face is None else cube.project(coords, self.face)
        self.missing: Arr = np.zeros(len(coords[0]), np.bool_)

    def scaled(self, level: int) -> list[Arr]:
        """Coordinates in texels."""
        t = self.texture
        scale = self.sampler.normalized or t.is_cube
        return [
            np.clip(np.nan_to_num(c.astype(np.float64)) * (t.size(k, level) if scale else 1), -_LARGE, _LARGE)
            for k, c in enumerate(self.coords[: t.dims])
        ]

    def texels(self, level: int, who: Arr, place: list[Arr]) -> Arr:
        """Values [threads, channels] at texel numbers, which may be outside; with a depth, the results of the comparison."""
        t, r = self.texture, self.request.some(who)
        if r.offsets is not None:
            place = [i + o for i, o in zip(place, r.offsets, strict=False)]
        outside = np.zeros(len(who), np.bool_)
        inner = []
        for k, i in enumerate(place):
            size = t.size(k, level)
            # Filtering does not cross the edges of a cube's face.
            at, out = (np.clip(i, 0, size - 1), outside & False) if t.is_cube else self.sampler.wrapped(k, i, size)
            inner.append(at)
            outside |= out
        index = (*t._outer(r, len(who), None if self.face is None else self.face[who]), *inner[::-1])
        if t.absent is not None and level == 0:
            absent = t.absent[index] & ~outside
            self.missing[who] |= absent
            outside |= absent
        v = t._values(t.levels[level][index])
        if outside.any():
            v = np.where(outside[:, None], v.dtype.type(0), v)
        if r.depth is not None:
            given = r.depth.astype(np.float64)
            v = COMPARE[self.sampler.compare](given, v[:, 0].astype(np.float64)).astype(np.float64)[:, None]
        return v

    def level(self, level: int, who: Arr) -> Arr:
        """Samples of one level for some threads: values [threads, channels]."""
        at = [x[who] for x in self.scaled(level)]
        if not self.sampler.linear:
            return self.texels(level, who, [np.floor(x).astype(I64) for x in at])
        low = [np.floor(x - 0.5) for x in at]
        weight = [np.rint((x - 0.5 - f) * _WEIGHT) / _WEIGHT for x, f in zip(at, low, strict=True)]
        total: Any = 0.0
        for corner in range(1 << len(at)):
            part: Arr = np.ones(len(who))
            for k in range(len(at)):
                part = part * (weight[k] if corner >> k & 1 else 1.0 - weight[k])
            if not part.any() and self.texture.absent is None:
                continue
            v = self.texels(level, who, [f.astype(I64) + (corner >> k & 1) for k, f in enumerate(low)])
            total = total + np.where(part[:, None] != 0, v * part[:, None], 0.0)
        result: Arr = total
        return result


def detail_of(texture: Texture, sampler: Sampler, coords: list[Arr], steps: list[list[Arr]]) -> Arr:
    """The level of detail (f32) for gradients of the coordinates along screen x and y: log2 of the longer one in texels.

    For cubes, the end point of each gradient is projected on the face of its start.  OpenGL (version 4.6, section
    8.14.1) allows approximations; this is the exact value rounded once.
    """
    at = [np.asarray(c, np.float64) for c in coords]
    moved = [[a + np.asarray(d, np.float64) for a, d in zip(at, s, strict=True)] for s in steps]
    if texture.is_cube:
        face = cube.face_of(at)
        at, moved = cube.project(at, face), [cube.project(m, face) for m in moved]
    longest = np.zeros(len(coords[0]))
    for m in moved:
        length = np.zeros(len(coords[0]))
        for k in range(texture.dims):
            scale = texture.size(k) if sampler.normalized or texture.is_cube else 1
            length += ((m[k] - at[k]) * scale) ** 2
        longest = np.maximum(longest, length)
    with np.errstate(divide="ignore"):
        result: Arr = (np.log2(np.nan_to_num(longest)) / 2).astype(np.float32)
    return result


def lookup(objects: dict[int, Any], index: int, kind: type[Any], lane: int, handle: int) -> Any:
    """The object of an index; a Fault if there is none."""
    found = objects.get(index)
    if not isinstance(found, kind):
        raise Fault(IllegalInstruction, f"0x{handle:x} is no handle of a {kind.__name__.lower()}", lane)
    return found
