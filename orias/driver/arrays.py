"""Arrays of texels, and what textures and surfaces make of them and of memory."""

import ctypes
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.driver.results import DriverError
from orias.sim.core.sim_errors import ArgumentError
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture

LAYERED, CUBE = 1, 4
"""Flags of CUDA_ARRAY3D_DESCRIPTOR."""
FORMATS: Final = {1: "u1", 2: "u2", 3: "u4", 8: "i1", 9: "i2", 10: "i4", 16: "f2", 32: "f4"}
"""Types of CUarray_format."""
VIEW_FORMATS: Final = {
    1 + 3 * i + k: (kind, (1, 2, 4)[k])
    for i, kind in enumerate(("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4"))
    for k in range(3)
}
"""Type and channels by number of CUresourceViewFormat (and cudaResourceViewFormat), without compressed ones."""
ADDRESS: Final = ("wrap", "clamp", "mirror", "border")
FILTERS: Final = ("point", "linear")


class Array:
    """An array; sizes in texels, 0 for a dimension that it does not have."""

    def __init__(self, width: int, height: int, depth: int, format_: int, channels: int, flags: int) -> None:
        if format_ not in FORMATS or channels not in (1, 2, 4) or not width:
            raise DriverError("INVALID_VALUE", f"format {format_}, {channels} channels, width {width}")
        self.width: Final = width
        self.height: Final = height
        self.depth: Final = depth
        self.format: Final = format_
        self.channels: Final = channels
        self.flags: Final = flags
        shape = [depth] * bool(depth) + [height] * bool(height) + [width]
        self.data: Final = np.zeros([*shape, channels] if channels > 1 else shape, FORMATS[format_])

    @property
    def texel(self) -> int:
        """Bytes of a texel."""
        return self.data.itemsize * self.channels

    def end(self, x: int, y: int, z: int) -> list[int]:
        """Address of a place (`x` in bytes), bytes from row to row and from layer to layer."""
        row = self.width * self.texel
        layer = row * max(self.height, 1)
        at = z * layer + y * row + x
        if at > self.data.nbytes:
            raise DriverError("INVALID_VALUE", "a place outside of an array")
        return [self.data.ctypes.data + at, row, layer]

    @property
    def kind(self) -> str:
        """The simulator's kind of texture."""
        if self.flags & CUBE:
            return "acube" if self.flags & LAYERED else "cube"
        if self.flags & LAYERED:
            return "a2d" if self.height else "a1d"
        return "3d" if self.depth else "2d" if self.height else "1d"

    def shaped(self) -> npt.NDArray[Any]:
        """The texels with the axes of the kind."""
        if self.kind == "acube":
            return self.data.reshape(-1, 6, *self.data.shape[1:])
        return self.data


class Mipmaps:
    """Arrays, each of half the size of the one before."""

    def __init__(self, levels: list[Array]) -> None:
        self.levels: Final = levels
        self.handles: dict[int, int] = {}
        """Handles of the arrays by level."""


def linear(address: int, size: int, format_: int, channels: int) -> npt.NDArray[Any]:
    """Memory as texels in a row."""
    return rows(address, size // (np.dtype(FORMATS[format_]).itemsize * channels), 0, 0, format_, channels)


def rows(address: int, width: int, height: int, pitch: int, format_: int, channels: int) -> npt.NDArray[Any]:
    """Memory as rows of texels at distances of `pitch` bytes; one row without `height`."""
    kind = np.dtype(FORMATS[format_])
    row = width * channels * kind.itemsize
    size = (height - 1) * pitch + row if height else row
    raw: Any = (ctypes.c_ubyte * size).from_address(address)
    data = np.frombuffer(raw, kind)
    shape = [height, width, channels] if height else [width, channels]
    strides = [pitch, channels * kind.itemsize, kind.itemsize][-len(shape) :]
    out: npt.NDArray[Any] = np.lib.stride_tricks.as_strided(data, shape, strides)
    return out if channels > 1 else out[..., 0]


class Look:
    """How a texture is read: CUDA_TEXTURE_DESC and cudaTextureDesc have the same content."""

    def __init__(self, address: list[int], filter_: int, mip_filter: int, normalized: bool, integers: bool) -> None:
        self.address: Final = address
        self.filter: Final = filter_
        self.mip_filter: Final = mip_filter
        self.normalized: Final = normalized
        self.integers: Final = integers
        """Integer texels are read as integers, not as floats from 0 (-1) to 1."""


def texture(levels: list[npt.NDArray[Any]], kind: str, channels: int, look: Look) -> Texture:
    """A texture; INVALID_VALUE for what cannot be read like this."""
    narrow = levels[0].dtype.kind != "f" and levels[0].dtype.itemsize < 4
    try:
        return Texture(
            levels,
            kind,
            channels=channels,
            read="normalized" if narrow and not look.integers else "element",
            filter=FILTERS[look.filter],
            mip_filter=FILTERS[look.mip_filter],
            address=[ADDRESS[a] for a in look.address],
            normalized=look.normalized,
        )
    except (ArgumentError, IndexError) as e:
        raise DriverError("INVALID_VALUE", str(e)) from None


def surface(array: Array) -> Surface:
    """A surface on an array."""
    try:
        return Surface(array.data, array.kind, channels=array.channels)
    except ArgumentError as e:
        raise DriverError("INVALID_VALUE", str(e)) from None
