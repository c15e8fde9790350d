"""Memory: allocations of every kind, pools, copies, fills, attributes of pointers."""

import ctypes
from typing import Final

from orias.driver import graphs
from orias.driver.arrays import Array
from orias.driver.driver_registry import call, get32, get64, put32, put64, u
from orias.driver.driver_state import Driver, Pool
from orias.driver.graph_memory import Allocation
from orias.driver.host_memory import MAPPED, enough_memory
from orias.driver.locations import DEVICE, location
from orias.driver.results import DriverError

_HOST, _DEVICE, _ARRAY, _UNIFIED = 1, 2, 3, 4
"""CUmemorytype."""
_PITCH = 512
ALLOCATION_BYTES: Final = 120
"""Bytes of CUDA_MEM_ALLOC_NODE_PARAMS: properties of the pool, access descriptors and their count, size, address."""
_SIZE_AT: Final = ALLOCATION_BYTES - 16
_LARGE: Final = 1 << 20
_CHUNK: Final = 2 << 20
_SMALL: Final = 512
"""A driver gives memory from chunks of 2 MB: allocations from 1 MB on begin at one, smaller ones at a multiple of 512 bytes.

Taichi counts on 4096 for its pool.
"""


def _allocate(d: Driver, place: int, size: int, kind: str) -> None:
    d.context  # noqa: B018 - fails without a context
    size = u(size)
    if not size:
        raise DriverError("INVALID_VALUE", "0 bytes")
    with enough_memory():
        address = d.arena.allocate(size, kind, _CHUNK if size >= _LARGE else _SMALL)
    put64(place, address)
    if d.sanitizer is not None:
        d.sanitizer.allocated(address)


@call("cuMemAlloc_v2")
def allocate(d: Driver, place: int, size: int) -> None:
    """Device memory."""
    _allocate(d, place, size, "device")


@call("cuMemAllocManaged")
def allocate_managed(d: Driver, place: int, size: int, flags: int) -> None:
    """Managed memory: all device memory is, here."""
    if flags not in (1, 2, 4):
        raise DriverError("INVALID_VALUE", f"flags {flags}")
    _allocate(d, place, size, "managed")


@call("cuMemAllocPitch_v2")
def allocate_pitch(d: Driver, place: int, pitch: int, width: int, height: int, element: int) -> None:
    """Rows at multiples of 512 bytes."""
    row = -(-u(width) // _PITCH) * _PITCH
    _allocate(d, place, row * u(height), "device")
    put64(pitch, row)


@call("cuMemAllocAsync")
def allocate_async(d: Driver, place: int, size: int, stream: int) -> None:
    """Device memory in stream order; where the stream is captured, the graph owns it."""
    recording = graphs.capture_of(d, stream)
    if recording is None:
        _allocate(d, place, size, "device")
        return
    # The properties of a pool of device memory that is not shared, without access descriptors.
    words = 1, 0, 1, 0, *[0] * ((_SIZE_AT - 16) // 4)
    given = b"".join(w.to_bytes(4, "little") for w in words) + u(size).to_bytes(8, "little")
    allocation = graph_allocation(d, recording[0].graph, given)
    graphs.submit(d, stream, graphs.ALLOCATE, provide_work(d, allocation), allocation)
    put64(place, allocation.address)


def graph_allocation(d: Driver, graph: graphs.Graph, given: bytes) -> Allocation:
    """Memory that a graph owns: its address, and memory there when the work runs."""
    size = int.from_bytes(given[_SIZE_AT:], "little")
    if not size:
        raise DriverError("INVALID_VALUE", "0 bytes")
    with enough_memory():
        allocation = d.graph_memory.reserve(d.arena, size, graph, given)
    if d.sanitizer is not None:
        d.sanitizer.allocated(allocation.address)
    return allocation


def provide_work(d: Driver, allocation: Allocation) -> graphs.Work:
    """The start of the memory of a graph."""
    return lambda: d.graph_memory.provide(d.arena, allocation)


def free_work(d: Driver, allocation: Allocation) -> graphs.Work:
    """Its end."""

    def work() -> None:
        free(d, allocation.address)

    return work


@call("cuMemAllocFromPoolAsync")
def allocate_from_pool(d: Driver, place: int, size: int, pool: int, stream: int) -> None:
    """Device memory of a pool."""
    d.get(pool, Pool)
    allocate_async(d, place, size, stream)


@call("cuMemAllocHost_v2", "cuMemHostAlloc")
def allocate_host(d: Driver, place: int, size: int, flags: int = 0) -> None:
    """Pinned host memory."""
    _allocate(d, place, size, "host")


@call("cuMemFree_v2", "cuMemFreeHost", "cuMemFreeAsync")
def free(d: Driver, address: int, stream: int = 0) -> None:
    """Give memory back; where the stream is captured, only memory of graphs."""
    recording = graphs.capture_of(d, stream)
    if recording is not None:
        allocation = d.graph_memory.freed_by(u(address), recording[0].graph)
        graphs.submit(d, stream, graphs.FREE, free_work(d, allocation), allocation)
        return
    known = d.arena.ranges.get(u(address))
    given = known is not None and d.arena.in_pool(known.start) and known.kind != MAPPED
    if address and not (given and d.arena.release(u(address))):
        raise DriverError("INVALID_VALUE", "no allocation starts there")
    d.graph_memory.freed(u(address))


@call("cuMemHostRegister_v2", "cuMemHostRegister")
def register(d: Driver, address: int, size: int, flags: int) -> None:
    """Pin memory of the host."""
    if d.arena.find(u(address)) is not None:
        raise DriverError("HOST_MEMORY_ALREADY_REGISTERED")
    d.arena.register(u(address), u(size))


@call("cuMemHostUnregister")
def unregister(d: Driver, address: int) -> None:
    """End the pinning."""
    if d.arena.in_pool(u(address)) or not d.arena.release(u(address)):
        raise DriverError("HOST_MEMORY_NOT_REGISTERED")


@call("cuMemHostGetDevicePointer_v2")
def device_pointer(d: Driver, place: int, address: int, flags: int) -> None:
    """The device's address of host memory: the same."""
    put64(place, address)


@call("cuMemHostGetFlags")
def host_flags(d: Driver, place: int, address: int) -> None:
    """Mapped."""
    put32(place, 2)


@call("cuMemGetInfo_v2")
def info(d: Driver, free_place: int, total: int) -> None:
    """Free and total bytes."""
    put64(free_place, d.arena.capacity - d.arena.used)
    put64(total, d.arena.capacity)


@call("cuMemGetAddressRange_v2")
def address_range(d: Driver, start: int, size: int, address: int) -> None:
    """The allocation around an address."""
    found = d.arena.find(u(address))
    if found is None:
        raise DriverError("NOT_FOUND")
    if start:
        put64(start, found.start)
    if size:
        put64(size, found.size)


@call("cuPointerGetAttribute", needs="init")
def pointer_attribute(d: Driver, place: int, attribute: int, address: int) -> None:
    """An attribute of a pointer; host memory that nobody registered has a device pointer only."""
    found = d.arena.find(u(address))
    if found is None:
        if attribute in (3, 4):
            put64(place, address)
            return
        raise DriverError("INVALID_VALUE", "no allocation holds the address")
    if attribute == 1:
        put64(place, d.current or d.primary)
    elif attribute == 2:
        put32(place, _HOST if found.kind == "host" else _DEVICE)
    elif attribute == 3:
        put64(place, address)
    elif attribute == 4:
        if found.kind not in ("host", "managed"):
            raise DriverError("INVALID_VALUE", "device memory")
        put64(place, address)
    elif attribute == 7:
        put64(place, found.start)
    elif attribute == 8:
        put32(place, int(found.kind == "managed"))
    elif attribute in (6, 9, 10, 15, 21):
        put32(place, 0)
    elif attribute in (11, 19):
        put64(place, found.start)
    elif attribute in (12, 18):
        put64(place, found.size)
    elif attribute == 13:
        put32(place, 1)
    elif attribute == 14:
        put64(place, 0)
    elif attribute == 16:
        put32(place, 3)
    elif attribute == 17:
        put64(place, 0)
    elif attribute == 20:
        put64(place, found.start)
    else:
        raise DriverError("INVALID_VALUE", f"attribute {attribute}")


@call("cuPointerGetAttributes", needs="init")
def pointer_attributes(d: Driver, count: int, kinds: int, places: int, address: int) -> None:
    """Several attributes; those that do not hold for the pointer are 0."""
    for i in range(count):
        kind, place = get32(kinds + 4 * i), get64(places + 8 * i)
        try:
            pointer_attribute(d, place, kind, address)
        except DriverError:
            if kind in (2, 6, 8, 9, 10, 13, 15, 16, 21):
                put32(place, -2 if kind == 9 else 0)
            else:
                put64(place, 0)


@call("cuPointerSetAttribute")
def set_pointer_attribute(d: Driver, place: int, attribute: int, address: int) -> None:
    """Copies are synchronous anyway."""


# -- copies


def _check(d: Driver, address: int, size: int) -> None:
    """Fails for a range that is in the device's addresses but not in an allocation; an empty one may be anywhere."""
    address = u(address)
    if not size:
        return
    if d.arena.in_pool(address):
        at, end = address, address + size
        while at < end:
            # Memory that the program maps may be of several parts.
            found = d.arena.find(at)
            if found is None or (end > found.start + found.size and found.kind != MAPPED):
                raise DriverError("INVALID_VALUE", f"{size} bytes at 0x{address:x} are in no allocation")
            at = found.start + found.size
    elif not address:
        raise DriverError("INVALID_VALUE", "a null pointer")


def _check_given(d: Driver, address: int, size: int) -> None:
    """The same for work that may run later: graphs may provide the memory until then."""
    if not d.graph_memory.holds(u(address), size):
        _check(d, address, size)


def _copy(d: Driver, to: int, source: int, size: int) -> None:
    size = u(size)
    _check(d, to, size)
    _check(d, source, size)
    ctypes.memmove(u(to), u(source), size)
    d.timeline.moved(d.device, size)
    if d.arena.written is not None:
        d.arena.written.copy(u(to), u(source), size)


def row_copies(d: Driver, to: list[int], source: list[int], size: tuple[int, int, int]) -> graphs.Work:
    """A copy of rows.

    `to`, `source`: first address, bytes from row to row, bytes from layer to layer.  `size`: bytes of a row, rows, layers.
    """
    width, height, depth = size
    for end in (to, source):
        if width * height * depth:
            _check_given(d, end[0], (depth - 1) * end[2] + (height - 1) * end[1] + width)

    def work() -> None:
        for z in range(depth):
            for y in range(height):
                _copy(d, to[0] + z * to[2] + y * to[1], source[0] + z * source[2] + y * source[1], width)

    return work


def copy_box(
    d: Driver, to: list[int], source: list[int], size: tuple[int, int, int], stream: int, given: bytes = b""
) -> None:
    """Copies rows in stream order; `given`: the parameters as the caller gave them."""
    graphs.submit(d, stream, graphs.COPY, row_copies(d, to, source, size), given)


@call("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpy")
def copy(d: Driver, to: int, source: int, size: int) -> None:
    """Copy bytes."""
    _copy(d, to, source, size)


@call("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyAsync")
def copy_async(d: Driver, to: int, source: int, size: int, stream: int) -> None:
    """Copy bytes in stream order."""
    copy_box(d, [u(to), 0, 0], [u(source), 0, 0], (u(size), 1, 1), stream)


@call("cuMemcpyPeer", "cuMemcpyPeerAsync")
def copy_peer(d: Driver, to: int, one: int, source: int, other: int, size: int, stream: int = 0) -> None:
    """Copy between contexts: there is one memory."""
    copy_async(d, to, source, size, stream)


@call("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy2DAsync_v2")
def copy_2d(d: Driver, place: int, stream: int = 0) -> None:
    """Copy a rectangle (CUDA_MEMCPY2D)."""
    ends = []
    for at in (place, place + 56):
        x, y = get64(at), get64(at + 8)
        kind, host, device, pitch = get32(at + 16), get64(at + 24), get64(at + 32), get64(at + 48)
        if kind == _ARRAY:
            ends.append(d.get(get64(at + 40), Array).end(x, y, 0))
            continue
        pitch = pitch or get64(place + 112)
        base = host if kind == _HOST else device
        ends.append([base + y * pitch + x, pitch, 0])
    size = get64(place + 112), get64(place + 120), 1
    copy_box(d, ends[1], ends[0], size, stream)


def box(d: Driver, place: int) -> tuple[list[int], list[int], tuple[int, int, int]]:
    """Destination, source and size of a copy (CUDA_MEMCPY3D), as :func:`copy_box` takes them."""
    ends = []
    width, height, depth = (get64(place + 176 + 8 * i) for i in range(3))
    for at in (place, place + 88):
        x, y, z = (get64(at + 8 * i) for i in range(3))
        kind, host, device = get32(at + 32), get64(at + 40), get64(at + 48)
        if kind == _ARRAY:
            ends.append(d.get(get64(at + 56), Array).end(x, y, z))
            continue
        pitch = get64(at + 72) or width
        rows = get64(at + 80) or height
        base = host if kind == _HOST else device
        ends.append([base + (z * rows + y) * pitch + x, pitch, rows * pitch])
    return ends[1], ends[0], (width, height, depth)


@call("cuMemcpy3D_v2", "cuMemcpy3DAsync_v2")
def copy_3d(d: Driver, place: int, stream: int = 0) -> None:
    """Copy a box (CUDA_MEMCPY3D)."""
    to, source, size = box(d, place)
    copy_box(d, to, source, size, stream, ctypes.string_at(place, 200))


# -- fills


def fill(d: Driver, to: int, value: int, size: int, count: int, stream: int = 0) -> None:
    """Fills memory with `count` elements of `size` bytes in stream order."""
    fill_rows(d, to, 0, value, size, count, 1, stream)


def fill_work(d: Driver, to: int, pitch: int, value: int, size: int, width: int, height: int) -> graphs.Work:
    """A fill of rows of `width` elements of `size` bytes, at distances of `pitch` bytes."""
    to, pitch, count, rows = u(to), u(pitch), u(width), u(height)
    element = u(value, 8 * size).to_bytes(size, "little")
    span = (rows - 1) * pitch + count * size if count and rows else 0
    _check_given(d, to, span)

    def work() -> None:
        _check(d, to, span)
        d.timeline.moved(d.device, rows * count * size)
        if d.arena.written is not None:
            for y in range(rows):
                d.arena.written.fill(to + y * pitch, count * size)
        if len(set(element)) == 1:
            for y in range(rows):
                ctypes.memset(to + y * pitch, element[0], count * size)
            return
        row = element * count
        for y in range(rows):
            ctypes.memmove(to + y * pitch, row, len(row))

    return work


def fill_rows(d: Driver, to: int, pitch: int, value: int, size: int, width: int, height: int, stream: int = 0) -> None:
    """Fills rows in stream order."""
    work = fill_work(d, to, pitch, value, size, width, height)
    graphs.submit(d, stream, graphs.FILL, work, _fill_params(to, pitch, value, size, width, height))


def _fill_params(*values: int) -> bytes:
    """A fill as CUDA_MEMSET_NODE_PARAMS."""
    to, pitch, value, size, width, height = values
    words = (u(to), 8), (u(pitch), 8), (u(value, 32), 4), (size, 4), (u(width), 8), (u(height), 8)
    return b"".join(v.to_bytes(n, "little") for v, n in words)


def _enter_fills() -> None:
    for bits in (8, 16, 32):
        size = bits // 8

        def line(d: Driver, to: int, value: int, count: int, stream: int = 0, size: int = size) -> None:
            fill(d, to, value, size, count, stream)

        def rows(
            d: Driver, to: int, pitch: int, value: int, width: int, height: int, stream: int = 0, size: int = size
        ) -> None:
            fill_rows(d, to, pitch, value, size, width, height, stream)

        call(f"cuMemsetD{bits}_v2", f"cuMemsetD{bits}Async")(line)
        call(f"cuMemsetD2D{bits}_v2", f"cuMemsetD2D{bits}Async")(rows)


_enter_fills()


# -- pools, advice


@call("cuMemPoolCreate", needs="init")
def create_pool(d: Driver, place: int, properties: int) -> None:
    """A pool of the device's memory."""
    if location(properties + 8) != DEVICE:
        raise DriverError("NOT_SUPPORTED", "a pool of the host's memory")
    put64(place, d.new(Pool()))


@call("cuMemPoolDestroy", needs="init")
def destroy_pool(d: Driver, pool: int) -> None:
    """End a pool."""
    d.drop(pool, Pool)


@call("cuMemPoolTrimTo", needs="init")
def trim_pool(d: Driver, pool: int, size: int) -> None:
    """A pool keeps nothing."""
    d.get(pool, Pool)


@call("cuMemPoolGetAttribute", needs="init")
def pool_attribute(d: Driver, pool: int, attribute: int, place: int) -> None:
    """An attribute of a pool; 64 bits from the fourth on."""
    p = d.get(pool, Pool)
    if attribute in (5, 6, 7, 8):
        put64(place, d.arena.used)
    elif attribute == 4:
        put64(place, p.attributes[4])
    elif attribute in p.attributes:
        put32(place, p.attributes[attribute])
    else:
        raise DriverError("INVALID_VALUE")


@call("cuMemPoolSetAttribute", needs="init")
def set_pool_attribute(d: Driver, pool: int, attribute: int, place: int) -> None:
    """Change an attribute of a pool."""
    d.get(pool, Pool).attributes[attribute] = get64(place) if attribute >= 4 else get32(place)


@call("cuMemPoolSetAccess", needs="init")
def pool_access(d: Driver, pool: int, places: int, count: int) -> None:
    """There is one device."""
    d.get(pool, Pool)


@call("cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", "cuMemAdvise", "cuMemAdvise_v2", "cuStreamAttachMemAsync")
def advice(d: Driver, address: int, *values: int) -> None:
    """Where memory is makes no difference."""
    if d.arena.find(u(address)) is None and d.arena.in_pool(u(address)):
        raise DriverError("INVALID_VALUE")
