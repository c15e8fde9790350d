"""The CUDA runtime's arrays, textures and surfaces."""

import ctypes
from typing import Final

from orias.driver import arrays, calls_memory, calls_texture
from orias.driver.arrays import Array, Look
from orias.driver.driver_registry import HANDLERS, Handler, call, get32, get64, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.results import DriverError

_OF_ARRAY: Final = 0
"""cudaResourceType."""
_KINDS: Final = "iuf"
"""Type letters by cudaChannelFormatKind."""
_NUMBERS: Final = {name: number for number, name in arrays.FORMATS.items()}
_RESOURCE_BYTES: Final = 64
_SIZES: Final = 40
"""Offset of the sizes of plain memory in cudaResourceDesc."""
_TEXTURE_BYTES: Final = 80
_SAME: Final = {
    "cudaFreeArray": "cuArrayDestroy",
    "cudaFreeMipmappedArray": "cuMipmappedArrayDestroy",
    "cudaGetMipmappedArrayLevel": "cuMipmappedArrayGetLevel",
    "cudaDestroyTextureObject": "cuTexObjectDestroy",
    "cudaDestroySurfaceObject": "cuSurfObjectDestroy",
    "cudaGetTextureObjectResourceDesc": "cuTexObjectGetResourceDesc",
    "cudaGetSurfaceObjectResourceDesc": "cuSurfObjectGetResourceDesc",
    "cudaGetTextureObjectTextureDesc": "cuTexObjectGetTextureDesc",
}
for _name, _of in _SAME.items():
    HANDLERS[_name] = Handler(HANDLERS[_of].function, "runtime")


def _format(at: int) -> tuple[int, int]:
    """Format and channels of a cudaChannelFormatDesc."""
    bits = [get32(at + 4 * i) for i in range(4)]
    kind = get32(at + 16)
    channels = sum(1 for b in bits if b)
    name = f"{_KINDS[kind]}{bits[0] // 8}" if kind < len(_KINDS) else ""
    if name not in _NUMBERS or len({b for b in bits if b}) != 1:
        raise DriverError("NOT_SUPPORTED", f"channels of {bits} bits of kind {kind}")
    return _NUMBERS[name], channels


def put_channels(at: int, array: Array) -> None:
    """Stores a cudaChannelFormatDesc."""
    name = arrays.FORMATS[array.format]
    for i in range(4):
        put32(at + 4 * i, 8 * int(name[1]) if i < array.channels else 0)
    put32(at + 16, _KINDS.index(name[0]))


@call("cudaMallocArray", needs="runtime")
def allocate(d: Driver, place: int, channels: int, width: int, height: int, flags: int) -> None:
    """An array of one or two dimensions."""
    put64(place, d.new(Array(u(width), u(height), 0, *_format(channels), flags)))


@call("cudaMalloc3DArray", needs="runtime")
def allocate_3d(d: Driver, place: int, channels: int, width: int, height: int, depth: int, flags: int) -> None:
    """An array."""
    put64(place, d.new(Array(u(width), u(height), u(depth), *_format(channels), flags)))


@call("cudaMallocMipmappedArray", needs="runtime")
def allocate_mipmaps(
    d: Driver, place: int, channels: int, width: int, height: int, depth: int, count: int, flags: int
) -> None:
    """Arrays of halved sizes."""
    put64(place, calls_texture.mipmaps(d, (u(width), u(height), u(depth)), *_format(channels), flags, count))


@call("cudaArrayGetInfo", needs="runtime")
def info(d: Driver, channels: int, extent: int, flags: int, array: int) -> None:
    """Format, sizes and flags."""
    a = d.get(array, Array)
    if channels:
        put_channels(channels, a)
    if extent:
        for i, value in enumerate((a.width, a.height, a.depth)):
            put64(extent + 8 * i, value)
    if flags:
        put32(flags, a.flags)


@call("cudaGetChannelDesc", needs="runtime")
def channels_of(d: Driver, place: int, array: int) -> None:
    """The format of an array."""
    put_channels(place, d.get(array, Array))


def _copy(d: Driver, to: list[int], source: list[int], width: int, height: int, stream: int) -> None:
    calls_memory.copy_box(d, to, source, (u(width), u(height), 1), stream)


@call("cudaMemcpy2DToArray", "cudaMemcpy2DToArrayAsync", needs="runtime")
def copy_to(
    d: Driver, array: int, x: int, y: int, source: int, pitch: int, width: int, height: int, kind: int, stream: int = 0
) -> None:
    """Copy rows to an array."""
    _copy(d, d.get(array, Array).end(u(x), u(y), 0), [u(source), u(pitch), 0], width, height, stream)


@call("cudaMemcpy2DFromArray", "cudaMemcpy2DFromArrayAsync", needs="runtime")
def copy_from(
    d: Driver, to: int, pitch: int, array: int, x: int, y: int, width: int, height: int, kind: int, stream: int = 0
) -> None:
    """Copy rows from an array."""
    _copy(d, [u(to), u(pitch), 0], d.get(array, Array).end(u(x), u(y), 0), width, height, stream)


@call("cudaMemcpy2DArrayToArray", needs="runtime")
def copy_between(
    d: Driver, to: int, to_x: int, to_y: int, source: int, x: int, y: int, width: int, height: int, kind: int
) -> None:
    """Copy rows between arrays."""
    ends = d.get(to, Array).end(u(to_x), u(to_y), 0), d.get(source, Array).end(u(x), u(y), 0)
    _copy(d, *ends, width, height, 0)


@call("cudaMemcpyToArray", "cudaMemcpyToArrayAsync", needs="runtime")
def copy_line_to(d: Driver, array: int, x: int, y: int, source: int, size: int, kind: int, stream: int = 0) -> None:
    """Copy bytes to an array."""
    _copy(d, d.get(array, Array).end(u(x), u(y), 0), [u(source), 0, 0], size, 1, stream)


@call("cudaMemcpyFromArray", "cudaMemcpyFromArrayAsync", needs="runtime")
def copy_line_from(d: Driver, to: int, array: int, x: int, y: int, size: int, kind: int, stream: int = 0) -> None:
    """Copy bytes from an array."""
    _copy(d, [u(to), 0, 0], d.get(array, Array).end(u(x), u(y), 0), size, 1, stream)


@call("cudaCreateTextureObject", needs="runtime")
def create_texture(d: Driver, place: int, resource: int, look: int, view: int) -> None:
    """A texture object (cudaTextureDesc)."""
    modes = [get32(look + 4 * i) for i in range(3)]
    read = Look(modes, get32(look + 12), get32(look + 48), bool(get32(look + 40)), not get32(look + 16))
    given = [ctypes.string_at(resource, _RESOURCE_BYTES), ctypes.string_at(look, _TEXTURE_BYTES)]
    levels, kind, channels = calls_texture.image_of(d, resource, _format, _SIZES)
    if view:
        levels = calls_texture.viewed(view, levels, kind, channels)
    put64(place, calls_texture.enter(d, arrays.texture(levels, kind, channels, read), given))


@call("cudaCreateSurfaceObject", needs="runtime")
def create_surface(d: Driver, place: int, resource: int) -> None:
    """A surface object."""
    if get32(resource) != _OF_ARRAY:
        raise DriverError("INVALID_VALUE", "surfaces are on arrays")
    thing = arrays.surface(d.get(get64(resource + 8), Array))
    put64(place, calls_texture.enter(d, thing, [ctypes.string_at(resource, _RESOURCE_BYTES)]))
