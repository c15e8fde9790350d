"""Virtual memory management: reserved addresses, physical memory, and what maps one to the other."""

import ctypes
import os
from typing import Final

from orias.driver.driver_registry import call, get32, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.locations import DEVICE, HOST, location
from orias.driver.results import DriverError
from orias.driver.virtual_memory import GRANULARITY, Physical

_PROPERTY_BYTES: Final = 32
"""Bytes of CUmemAllocationProp: type, types of handles, location (type, number), and others that have no effect."""
_PINNED: Final = 1
_FILE: Final = 1
"""CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR."""
_ACCESS_BYTES: Final = 12
"""Bytes of CUmemAccessDesc: location (type, number), flags."""


def _place(at: int) -> int:
    """Where memory with these properties (CUmemAllocationProp) is; fails for properties that no memory has."""
    if get32(at) != _PINNED or get32(at + 4) & ~_FILE:
        raise DriverError("NOT_SUPPORTED", "memory that is not pinned, or handles other than of files")
    place = location(at + 8)
    if place == HOST and get32(at + 4):
        raise DriverError("INVALID_VALUE", "memory of the host, of no node, has no handles")
    return place


@call("cuMemGetAllocationGranularity")
def granularity(d: Driver, place: int, at: int, option: int) -> None:
    """What sizes are multiples of."""
    _place(at)
    put64(place, GRANULARITY)


@call("cuMemAddressReserve")
def reserve(d: Driver, place: int, size: int, align: int, wish: int, flags: int) -> None:
    """Reserve addresses; those that are wished for are not given."""
    put64(place, d.virtual.reserve(d.arena, u(size), u(align)))


@call("cuMemAddressFree")
def free(d: Driver, address: int, size: int) -> None:
    """End a reservation."""
    d.virtual.free(u(address), u(size))


@call("cuMemCreate")
def create(d: Driver, place: int, size: int, at: int, flags: int) -> None:
    """Physical memory."""
    put64(place, d.new(d.virtual.create(d.arena, u(size), _place(at), ctypes.string_at(at, _PROPERTY_BYTES))))


@call("cuMemRelease")
def release(d: Driver, handle: int) -> None:
    """End a use of physical memory, which stays where it is mapped."""
    if d.virtual.released(d.arena, d.get(handle, Physical, "INVALID_VALUE")):
        d.drop(handle, Physical)


@call("cuMemMap")
def put_there(d: Driver, address: int, size: int, offset: int, handle: int, flags: int) -> None:
    """Map physical memory; the device has no access yet."""
    d.virtual.map(d.arena, u(address), u(size), u(offset), d.get(handle, Physical, "INVALID_VALUE"), handle)


@call("cuMemUnmap")
def unmap(d: Driver, address: int, size: int) -> None:
    """Take mappings away."""
    d.virtual.unmap(d.arena, u(address), u(size))


@call("cuMemSetAccess")
def set_access(d: Driver, address: int, size: int, descriptions: int, count: int) -> None:
    """Give access, or take it; who may read may write too."""
    for at in range(descriptions, descriptions + _ACCESS_BYTES * u(count), _ACCESS_BYTES):
        who, flags = location(at, any_node=True), get32(at + 8)
        if who == DEVICE:
            d.virtual.allow(d.arena, u(address), u(size), flags)
        else:
            d.virtual.allow_host(u(address), u(size), flags, who)


@call("cuMemGetAccess")
def get_access(d: Driver, place: int, who: int, address: int) -> None:
    """The access that was given."""
    put64(place, d.virtual.access(u(address), location(who, any_node=True)))


@call("cuMemRetainAllocationHandle")
def retain(d: Driver, place: int, address: int) -> None:
    """The physical memory at an address, once more."""
    mapping = d.virtual.at(u(address))
    if mapping.physical.references <= 0:
        raise DriverError("NOT_SUPPORTED", "the handle of memory that was released")
    mapping.physical.references += 1
    put64(place, mapping.handle)


@call("cuMemGetAllocationPropertiesFromHandle")
def properties(d: Driver, at: int, handle: int) -> None:
    """What physical memory was made with."""
    ctypes.memmove(at, d.get(handle, Physical, "INVALID_VALUE").properties, _PROPERTY_BYTES)


@call("cuMemExportToShareableHandle")
def export(d: Driver, place: int, handle: int, kind: int, flags: int) -> None:
    """A file descriptor, for this process and others."""
    found = d.get(handle, Physical, "INVALID_VALUE")
    if kind != _FILE or not found.properties[4] & _FILE:
        raise DriverError("INVALID_VALUE", "the memory was not made for handles of this kind")
    put32(place, os.dup(found.file))


@call("cuMemImportFromShareableHandle")
def import_file(d: Driver, place: int, descriptor: int, kind: int) -> None:
    """The memory of such a descriptor."""
    if kind != _FILE:
        raise DriverError("NOT_SUPPORTED", f"handles of kind {kind}")
    put64(place, d.new(d.virtual.adopt(d.arena, descriptor)))
