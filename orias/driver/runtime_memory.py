"""The CUDA runtime's memory: allocations, copies, fills, attributes of pointers."""

import ctypes
from typing import Final

from orias.driver import calls_memory, graphs
from orias.driver.arrays import Array
from orias.driver.driver_registry import call, get64, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.results import DriverError
from orias.driver.runtime_calls import INVALID_DIRECTION, RuntimeFailure
from orias.driver.runtime_launch import variable

_DIRECTIONS: Final = 5
"""Values of cudaMemcpyKind."""
_KINDS: Final = {"host": 1, "device": 2, "managed": 3}
"""cudaMemoryType."""


def _empty(place: int, size: int) -> bool:
    """Whether nothing is asked for: the pointer is null then."""
    if not u(size):
        put64(place, 0)
    return not u(size)


@call("cudaMalloc", needs="runtime")
def allocate(d: Driver, place: int, size: int) -> None:
    """Device memory."""
    if not _empty(place, size):
        calls_memory.allocate(d, place, size)


@call("cudaMallocManaged", needs="runtime")
def allocate_managed(d: Driver, place: int, size: int, flags: int) -> None:
    """Managed memory."""
    calls_memory.allocate_managed(d, place, size, flags)


@call("cudaMallocHost", "cudaHostAlloc", needs="runtime")
def allocate_host(d: Driver, place: int, size: int, flags: int = 0) -> None:
    """Pinned host memory."""
    if not _empty(place, size):
        calls_memory.allocate_host(d, place, size, flags)


@call("cudaMallocPitch", needs="runtime")
def allocate_pitch(d: Driver, place: int, pitch: int, width: int, height: int) -> None:
    """Rows at multiples of 512 bytes."""
    if u(width) * u(height):
        calls_memory.allocate_pitch(d, place, pitch, width, height, 4)
    else:
        put64(place, 0)
        put64(pitch, 0)


@call("cudaMalloc3D", needs="runtime")
def allocate_3d(d: Driver, place: int, width: int, height: int, depth: int) -> None:
    """Layers of rows (cudaPitchedPtr)."""
    allocate_pitch(d, place, place + 8, width, u(height) * u(depth))
    put64(place + 16, width)
    put64(place + 24, height)


@call("cudaPointerGetAttributes", needs="runtime")
def pointer_attributes(d: Driver, place: int, address: int) -> None:
    """Kind, device and pointers (cudaPointerAttributes)."""
    found = d.arena.find(u(address))
    kind = _KINDS.get(found.kind, 2) if found else 0
    put32(place, kind)
    put32(place + 4, 0 if kind else -2)
    put64(place + 8, address)
    put64(place + 16, 0 if kind == _KINDS["device"] else address)


def _direction(kind: int) -> None:
    if not 0 <= kind < _DIRECTIONS:
        raise RuntimeFailure(INVALID_DIRECTION, f"kind {kind}")


@call("cudaMemcpy", "cudaMemcpyAsync", needs="runtime")
def copy(d: Driver, to: int, source: int, size: int, kind: int, stream: int = 0) -> None:
    """Copy bytes."""
    _direction(kind)
    calls_memory.copy_async(d, to, source, size, stream)


@call("cudaMemcpyPeer", "cudaMemcpyPeerAsync", needs="runtime")
def copy_peer(d: Driver, to: int, one: int, source: int, other: int, size: int, stream: int = 0) -> None:
    """Copy between devices: there is one."""
    calls_memory.copy_async(d, to, source, size, stream)


@call("cudaMemcpy2D", "cudaMemcpy2DAsync", needs="runtime")
def copy_2d(
    d: Driver, to: int, to_pitch: int, source: int, pitch: int, width: int, height: int, kind: int, stream: int = 0
) -> None:
    """Copy a rectangle."""
    _direction(kind)
    if u(width) > u(to_pitch) or u(width) > u(pitch):
        raise RuntimeFailure(12, "the rows are wider than a pitch")
    calls_memory.copy_box(d, [u(to), u(to_pitch), 0], [u(source), u(pitch), 0], (u(width), u(height), 1), stream)


@call("cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync", needs="runtime")
def copy_to_symbol(d: Driver, host: int, source: int, size: int, offset: int, kind: int, stream: int = 0) -> None:
    """Copy to a variable."""
    copy(d, _inside(d, host, size, offset), source, size, kind, stream)


@call("cudaMemcpyFromSymbol", "cudaMemcpyFromSymbolAsync", needs="runtime")
def copy_from_symbol(d: Driver, to: int, host: int, size: int, offset: int, kind: int, stream: int = 0) -> None:
    """Copy from a variable."""
    copy(d, to, _inside(d, host, size, offset), size, kind, stream)


def _inside(d: Driver, host: int, size: int, offset: int) -> int:
    address, room = variable(d, host)
    if u(offset) + u(size) > room:
        raise DriverError("INVALID_VALUE", f"bytes {u(offset)} to {u(offset) + u(size)} of a variable of {room}")
    return address + u(offset)


@call("cudaMemset", "cudaMemsetAsync", needs="runtime")
def fill(d: Driver, to: int, value: int, size: int, stream: int = 0) -> None:
    """Fill bytes."""
    calls_memory.fill(d, to, value, 1, u(size), stream)


@call("cudaMemset2D", "cudaMemset2DAsync", needs="runtime")
def fill_2d(d: Driver, to: int, pitch: int, value: int, width: int, height: int, stream: int = 0) -> None:
    """Fill a rectangle."""
    calls_memory.fill_rows(d, to, pitch, value, 1, width, height, stream)


@call("cudaMemset3D", "cudaMemset3DAsync", needs="runtime")
def fill_3d(
    d: Driver,
    to: int,
    pitch: int,
    row: int,
    rows: int,
    value: int,
    width: int,
    height: int,
    depth: int,
    stream: int = 0,
) -> None:
    """Fill a box."""
    for z in range(u(depth)):
        calls_memory.fill_rows(d, to + z * u(pitch) * u(rows), pitch, value, 1, width, height, stream)


@call("cudaMemRangeGetAttribute", needs="runtime")
def range_attribute(d: Driver, place: int, size: int, attribute: int, address: int, count: int) -> None:
    """Advice has no effect: all attributes are unset."""
    ctypes.memset(place, 0, min(u(size), 8))


@call("cudaMemPoolGetAccess", needs="runtime")
def pool_access(d: Driver, place: int, pool: int, location: int) -> None:
    """The device reads and writes."""
    put32(place, 3)


def box_of(d: Driver, place: int) -> graphs.Work:
    """A copy of a box (cudaMemcpy3DParms); with an array, widths are in texels."""
    width, height, depth = (get64(place + 128 + 8 * i) for i in range(3))
    given = [d.get(get64(at), Array) for at in (place, place + 64) if get64(at)]
    texel = given[0].texel if given else 1
    ends = []
    for at in (place, place + 64):
        if get64(at):
            x, y, z = (get64(at + 8 + 8 * i) for i in range(3))
            ends.append(d.get(get64(at), Array).end(x * texel, y, z))
            continue
        x, y, z = (get64(at + 8 + 8 * i) for i in range(3))
        address, pitch, _, rows = (get64(at + 32 + 8 * i) for i in range(4))
        ends.append([address + (z * rows + y) * pitch + x, pitch, rows * pitch])
    return calls_memory.row_copies(d, ends[1], ends[0], (width * texel, height, depth))


@call("cudaMemcpy3D", "cudaMemcpy3DAsync", needs="runtime")
def copy_3d(d: Driver, place: int, stream: int = 0) -> None:
    """Copy a box."""
    graphs.submit(d, stream, graphs.COPY, box_of(d, place), ctypes.string_at(place, 160))
