"""Arrays, textures, surfaces and tensor maps."""

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.driver import arrays, graphs
from orias.driver.arrays import Array, Look, Mipmaps
from orias.driver.calls_memory import row_copies
from orias.driver.driver_registry import call, get32, get64, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.results import DriverError
from orias.sim.matrix.tensor_map import NARROW, SIZE, SWIZZLES, tensormap

_OF_ARRAY, _OF_MIPMAPS, _LINEAR = 0, 1, 2
"""CUresourcetype."""
_SIZES: Final = 24
"""Offset of the sizes of plain memory in CUDA_RESOURCE_DESC."""
_AS_INTEGER, _NORMALIZED = 1, 2
_RESOURCE_BYTES: Final = 144
_TEXTURE_BYTES: Final = 104
_TENSOR_TYPES: Final = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz", *NARROW,
)  # fmt: skip
"""Types by number of CUtensorMapDataType (cuda.h), which are not those of ``tensormap.replace``."""
_INTERLEAVE_32B: Final = 2
_NEVER_INTERLEAVED: Final = "b6x16_p32"
_SWIZZLE_32B: Final = 1
_SLICE: Final = 32
"""Bytes of a slice of channels of CU_TENSOR_MAP_INTERLEAVE_32B."""


# -- arrays


@call("cuArrayCreate_v2")
def create(d: Driver, place: int, at: int) -> None:
    """An array of one or two dimensions (CUDA_ARRAY_DESCRIPTOR)."""
    put64(place, d.new(Array(get64(at), get64(at + 8), 0, get32(at + 16), get32(at + 20), 0)))


@call("cuArray3DCreate_v2")
def create_3d(d: Driver, place: int, at: int) -> None:
    """An array (CUDA_ARRAY3D_DESCRIPTOR)."""
    sizes = get64(at), get64(at + 8), get64(at + 16)
    put64(place, d.new(Array(*sizes, get32(at + 24), get32(at + 28), get32(at + 32))))


@call("cuArrayDestroy")
def destroy(d: Driver, handle: int) -> None:
    """End an array."""
    d.drop(handle, Array)


@call("cuArrayGetDescriptor_v2")
def descriptor(d: Driver, at: int, handle: int) -> None:
    """Sizes and format."""
    a = d.get(handle, Array)
    put64(at, a.width)
    put64(at + 8, a.height)
    put32(at + 16, a.format)
    put32(at + 20, a.channels)


@call("cuArray3DGetDescriptor_v2")
def descriptor_3d(d: Driver, at: int, handle: int) -> None:
    """Sizes, format and flags."""
    a = d.get(handle, Array)
    for i, value in enumerate((a.width, a.height, a.depth)):
        put64(at + 8 * i, value)
    for i, value in enumerate((a.format, a.channels, a.flags)):
        put32(at + 24 + 4 * i, value)


def mipmaps(d: Driver, sizes: tuple[int, int, int], format_: int, channels: int, flags: int, count: int) -> int:
    """The handle of arrays of halved sizes; layers are not halved."""
    levels = []
    for level in range(max(count, 1)):
        width, height = (max(1, s >> level) if s else 0 for s in sizes[:2])
        depth = sizes[2] if flags & (arrays.LAYERED | arrays.CUBE) or not sizes[2] else max(1, sizes[2] >> level)
        levels.append(Array(width, height, depth, format_, channels, flags))
        if max(width, height) == 1 and depth in (0, 1, sizes[2]):
            break
    return d.new(Mipmaps(levels))


@call("cuMipmappedArrayCreate")
def create_mipmaps(d: Driver, place: int, at: int, count: int) -> None:
    """Arrays of halved sizes."""
    sizes = get64(at), get64(at + 8), get64(at + 16)
    put64(place, mipmaps(d, sizes, get32(at + 24), get32(at + 28), get32(at + 32), count))


@call("cuMipmappedArrayDestroy")
def destroy_mipmaps(d: Driver, handle: int) -> None:
    """End them."""
    for own in d.drop(handle, Mipmaps).handles.values():
        d.handles.pop(own, None)


@call("cuMipmappedArrayGetLevel")
def level(d: Driver, place: int, handle: int, number: int) -> None:
    """The array of a level."""
    found = d.get(handle, Mipmaps)
    if not 0 <= number < len(found.levels):
        raise DriverError("INVALID_VALUE", f"level {number} of {len(found.levels)}")
    if number not in found.handles:
        found.handles[number] = d.new(found.levels[number])
    put64(place, found.handles[number])


def _line(d: Driver, to: list[int], source: list[int], size: int, stream: int = 0) -> None:
    graphs.submit(d, stream, graphs.COPY, row_copies(d, to, source, (u(size), 1, 1)), b"")


@call("cuMemcpyHtoA_v2", "cuMemcpyHtoAAsync_v2", "cuMemcpyDtoA_v2")
def copy_to_array(d: Driver, array: int, offset: int, source: int, size: int, stream: int = 0) -> None:
    """Copy bytes to an array."""
    _line(d, d.get(array, Array).end(offset, 0, 0), [u(source), 0, 0], size, stream)


@call("cuMemcpyAtoH_v2", "cuMemcpyAtoHAsync_v2", "cuMemcpyAtoD_v2")
def copy_from_array(d: Driver, to: int, array: int, offset: int, size: int, stream: int = 0) -> None:
    """Copy bytes from an array."""
    _line(d, [u(to), 0, 0], d.get(array, Array).end(offset, 0, 0), size, stream)


@call("cuMemcpyAtoA_v2")
def copy_arrays(d: Driver, to: int, to_offset: int, source: int, offset: int, size: int) -> None:
    """Copy bytes between arrays."""
    _line(d, d.get(to, Array).end(to_offset, 0, 0), d.get(source, Array).end(offset, 0, 0), size)


# -- textures and surfaces


class Object:
    """A texture or surface object; the structures that it was made from, for queries."""

    def __init__(self, number: int, given: list[bytes]) -> None:
        self.number: Final = number
        self.given: Final = given


def enter(d: Driver, thing: Any, given: list[bytes]) -> int:
    """The handle that kernels use for a texture or surface."""
    handle = d.arena.handle(thing)
    number = next(k for k, x in d.arena.objects.items() if x is thing)
    d.handles[handle] = Object(number, given)
    return handle


@call("cuTexObjectDestroy", "cuSurfObjectDestroy")
def end_object(d: Driver, handle: int) -> None:
    """End a texture or a surface; its number is not given out again."""
    d.arena.objects[d.drop(handle, Object).number] = None


def image_of(
    d: Driver, resource: int, form: Callable[[int], tuple[int, int]], sizes: int
) -> tuple[list[npt.NDArray[Any]], str, int]:
    """Levels, kind and channels of a resource of the driver or of the runtime, which differ in two places.

    ``form``: gives format and channels of the words at an address; ``sizes``: offset of the sizes of plain memory.
    """
    kind = get32(resource)
    if kind == _OF_ARRAY:
        a = d.get(get64(resource + 8), Array)
        return [a.shaped()], a.kind, a.channels
    if kind == _OF_MIPMAPS:
        found = d.get(get64(resource + 8), Mipmaps).levels
        return [a.shaped() for a in found], found[0].kind, found[0].channels
    address = get64(resource + 8)
    format_, channels = form(resource + 16)
    if kind == _LINEAR:
        return [arrays.linear(address, get64(resource + sizes), format_, channels)], "1d", channels
    width, height, pitch = (get64(resource + sizes + 8 * i) for i in range(3))
    return [arrays.rows(address, width, height, pitch, format_, channels)], "2d", channels


def _format(place: int) -> tuple[int, int]:
    """Format and channels of plain memory (CUDA_RESOURCE_DESC)."""
    format_, channels = get32(place), get32(place + 4)
    if format_ not in arrays.FORMATS:
        raise DriverError("INVALID_VALUE", f"format {format_}")
    return format_, channels


def viewed(view: int, levels: list[npt.NDArray[Any]], kind: str, channels: int) -> list[npt.NDArray[Any]]:
    """The levels and layers of a resource that a view shows (CUDA_RESOURCE_VIEW_DESC, cudaResourceViewDesc).

    A view that reads texels as others, or that has other sizes, is not supported.
    """
    format_, sizes = get32(view), [get64(view + 8 * i) for i in (1, 2, 3)]
    first, last, first_layer, last_layer = (get32(view + 32 + 4 * i) for i in range(4))
    shown = levels[first : last + 1]
    if not shown or last >= len(levels):
        raise DriverError("INVALID_VALUE", f"levels {first} to {last} of {len(levels)}")
    texels = shown[0]
    if format_ and arrays.VIEW_FORMATS.get(format_) != (texels.dtype.kind + str(texels.dtype.itemsize), channels):
        raise DriverError("NOT_SUPPORTED", f"a resource view with format {format_} of other texels")
    layered = kind.startswith("a")
    axes = texels.shape[: texels.ndim - (channels > 1)]
    own = list(reversed(axes[layered:] if kind not in ("cube", "acube") else axes[-2:]))
    if any(given not in (0, have) for given, have in zip(sizes, own, strict=False)):
        raise DriverError("NOT_SUPPORTED", f"a resource view of {sizes} of {own}")
    if not layered:
        return shown
    if not first_layer <= last_layer < axes[0]:
        raise DriverError("INVALID_VALUE", f"layers {first_layer} to {last_layer} of {axes[0]}")
    return [level[first_layer : last_layer + 1] for level in shown]


@call("cuTexObjectCreate")
def create_texture(d: Driver, place: int, resource: int, look: int, view: int) -> None:
    """A texture object."""
    flags = get32(look + 16)
    read = Look(
        [get32(look + 4 * i) for i in range(3)],
        get32(look + 12),
        get32(look + 24),
        bool(flags & _NORMALIZED),
        bool(flags & _AS_INTEGER),
    )
    given = [ctypes.string_at(resource, _RESOURCE_BYTES), ctypes.string_at(look, _TEXTURE_BYTES)]
    levels, kind, channels = image_of(d, resource, _format, _SIZES)
    if view:
        levels = viewed(view, levels, kind, channels)
    put64(place, enter(d, arrays.texture(levels, kind, channels, read), given))


@call("cuSurfObjectCreate")
def create_surface(d: Driver, place: int, resource: int) -> None:
    """A surface object."""
    if get32(resource) != _OF_ARRAY:
        raise DriverError("INVALID_VALUE", "surfaces are on arrays")
    thing = arrays.surface(d.get(get64(resource + 8), Array))
    put64(place, enter(d, thing, [ctypes.string_at(resource, _RESOURCE_BYTES)]))


@call("cuTexObjectGetResourceDesc", "cuSurfObjectGetResourceDesc")
def resource_of(d: Driver, place: int, handle: int) -> None:
    """What an object was made from."""
    given = d.get(handle, Object).given[0]
    ctypes.memmove(place, given, len(given))


@call("cuTexObjectGetTextureDesc")
def look_of(d: Driver, place: int, handle: int) -> None:
    """How a texture is read."""
    given = d.get(handle, Object).given[1]
    ctypes.memmove(place, given, len(given))


# -- tensor maps


def _numbers(at: int, count: int, size: int) -> list[int]:
    raw = ctypes.string_at(at, count * size) if count else b""
    return [int.from_bytes(raw[size * i : size * (i + 1)], "little") for i in range(count)]


def _encode(place: int, make: Any) -> None:
    if place % 64:
        raise DriverError("INVALID_VALUE", "a tensor map is not at a multiple of 64")
    try:
        data = make()
    except (ValueError, IndexError, OverflowError) as e:
        raise DriverError("INVALID_VALUE", str(e)) from None
    ctypes.memmove(place, data, SIZE)


def _check_map(kind: int, rank: int, address: int, swizzle: int) -> None:
    if not 0 <= kind < len(_TENSOR_TYPES) or not 1 <= rank <= 5 or address % 16:
        raise DriverError("INVALID_VALUE", f"type {kind}, rank {rank}, address 0x{u(address):x}")
    if not 0 <= swizzle < len(SWIZZLES):
        raise DriverError("NOT_SUPPORTED", f"swizzle {swizzle}")


def _check_interleave(
    interleave: int, kind: int, rank: int, address: int, strides: list[int], swizzle: int
) -> None:  # fmt: skip
    """What the driver's documentation asks of interleaved maps (CUDA Driver API, cuTensorMapEncodeTiled)."""
    if not interleave:
        return
    if not 0 < interleave <= _INTERLEAVE_32B or rank < 3 or _TENSOR_TYPES[kind] == _NEVER_INTERLEAVED:
        raise DriverError("INVALID_VALUE", f"interleave {interleave}, rank {rank}, type {kind}")
    if interleave == _INTERLEAVE_32B and (
        swizzle != _SWIZZLE_32B or address % _SLICE or any(s % _SLICE for s in strides)
    ):
        raise DriverError(
            "INVALID_VALUE", f"slices of 32 bytes: swizzle {swizzle}, address 0x{u(address):x}, strides {strides}"
        )


@call("cuTensorMapEncodeTiled", needs="init")
def encode_tiled(
    d: Driver, place: int, kind: int, rank: int, address: int, dims: int, strides: int, box: int, steps: int,
    interleave: int, swizzle: int, promotion: int, fill: int,
) -> None:  # fmt: skip
    """A tensor map of tiles; of an interleaved one the simulator knows all but the places of its elements, so a copy with it is refused."""
    _check_map(kind, rank, address, swizzle)
    sizes, tile, traversal = _numbers(dims, rank, 8), _numbers(box, rank, 4), _numbers(steps, rank, 4)
    pitches = _numbers(strides, rank - 1, 8)
    _check_interleave(interleave, kind, rank, address, pitches, swizzle)
    if not all(0 < n <= 1 << 32 for n in sizes) or not all(1 <= n <= 8 for n in traversal):
        raise DriverError("INVALID_VALUE", f"sizes {sizes}, steps {traversal}")
    name = _TENSOR_TYPES[kind]
    _encode(
        place,
        lambda: tensormap(
            name, u(address), sizes, pitches, tile, traversal, SWIZZLES[swizzle], bool(fill), interleave=interleave
        ),
    )


@call("cuTensorMapEncodeIm2col", needs="init")
def encode_im2col(
    d: Driver, place: int, kind: int, rank: int, address: int, dims: int, strides: int, lower: int, upper: int,
    channels: int, pixels: int, steps: int, interleave: int, swizzle: int, promotion: int, fill: int,
) -> None:  # fmt: skip
    """A tensor map of columns of pixels."""
    _check_map(kind, rank, address, swizzle)
    if interleave:
        raise DriverError("NOT_SUPPORTED", "interleaved tensors")
    sizes, pitches, traversal = _numbers(dims, rank, 8), _numbers(strides, rank - 1, 8), _numbers(steps, rank, 4)
    corners = [np.array(_numbers(at, rank - 2, 4), np.uint32).view(np.int32).tolist() for at in (lower, upper)]
    name = _TENSOR_TYPES[kind]
    _encode(
        place,
        lambda: tensormap(
            name, u(address), sizes, pitches, (), traversal, SWIZZLES[swizzle], bool(fill), (corners[0], corners[1]),
            channels, pixels,
        ),
    )  # fmt: skip


@call("cuTensorMapReplaceAddress", needs="init")
def replace_address(d: Driver, place: int, address: int) -> None:
    """Change the address of a tensor map."""
    if address % 16:
        raise DriverError("INVALID_VALUE", f"address 0x{u(address):x}")
    put64(place, address)
