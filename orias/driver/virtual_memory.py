"""Virtual memory management: addresses that a program reserves, and physical memory that it maps there.

Physical memory is a file of the system without a name, so it can be at several addresses, and other processes can have it.
"""

import os
from typing import Final, NamedTuple

from orias.driver.host_memory import MAPPED, HostArena, enough_memory
from orias.driver.locations import DEVICE, HOST, NODE
from orias.driver.results import DriverError

GRANULARITY: Final = 2 << 20
"""Sizes, addresses and offsets are multiples of this, as on devices."""
_NAME: Final = "orias memory "
"""What the names of files begin with; the properties follow."""


class Physical:
    """Physical memory; ``place``: where it is (CUmemLocationType); ``properties``: CUmemAllocationProp."""

    def __init__(self, size: int, file: int, place: int, properties: bytes) -> None:
        self.size: Final = size
        self.place: Final = place
        self.file: Final = file
        self.properties: Final = properties
        self.references = 1
        """Uses of its handle; at 0 it lives until it is mapped nowhere."""
        self.maps = 0


class Mapping(NamedTuple):
    """A place where physical memory is."""

    size: int
    physical: Physical
    handle: int


class VirtualMemory:
    """What a program reserved and mapped."""

    def __init__(self) -> None:
        self._reserved: Final[dict[int, int]] = {}
        """Bytes by first address."""
        self._mappings: Final[dict[int, Mapping]] = {}
        self._access: Final[dict[int, int]] = {}
        """CUmemAccess_flags by first address of a mapping, where the device has access."""
        self._host_access: Final[dict[int, int]] = {}
        """The same of the host; it is told when asked, but the host is not kept from any memory."""

    def reserve(self, arena: HostArena, size: int, align: int) -> int:
        """Reserves addresses; returns the first."""
        _check_multiples(size, align)
        if not size:
            raise DriverError("INVALID_VALUE", "0 bytes")
        with enough_memory():
            address = arena.reserve(size, max(align, GRANULARITY))
        self._reserved[address] = size
        return address

    def free(self, address: int, size: int) -> None:
        """Ends a reservation, in which nothing is mapped any more."""
        if self._reserved.get(address) != size or self._within(address, size):
            raise DriverError("INVALID_VALUE", "not a whole reservation, or memory is mapped in it")
        del self._reserved[address]

    def create(self, arena: HostArena, size: int, place: int, properties: bytes) -> Physical:
        """New physical memory."""
        _check_multiples(size)
        if not size:
            raise DriverError("INVALID_VALUE", "0 bytes")
        with enough_memory():
            if place == DEVICE:
                arena.take(size)
            # Who gets the descriptor knows the properties by the name.
            file = os.memfd_create(_NAME + properties.hex())
            os.ftruncate(file, size)
        return Physical(size, file, place, properties)

    def adopt(self, arena: HostArena, descriptor: int) -> Physical:
        """Physical memory that this process or another one made, by the descriptor of its file."""
        try:
            name = os.readlink(f"/proc/self/fd/{descriptor}").partition(_NAME)[2].split()[0]
            properties = bytes.fromhex(name)
            file = os.dup(descriptor)
        except (OSError, IndexError, ValueError) as e:
            raise DriverError("INVALID_VALUE", f"descriptor {descriptor} is no memory: {e}") from None
        place = int.from_bytes(properties[8:12], "little")
        size = os.fstat(file).st_size
        with enough_memory():
            if place == DEVICE:
                arena.take(size)
        return Physical(size, file, place, properties)

    def map(self, arena: HostArena, address: int, size: int, offset: int, physical: Physical, handle: int) -> None:
        """Puts physical memory at reserved addresses."""
        _check_multiples(address, size, offset)
        if not size or offset + size > physical.size:
            raise DriverError("INVALID_VALUE", f"{size} bytes at {offset} of {physical.size}")
        if not any(a <= address and address + size <= a + n for a, n in self._reserved.items()):
            raise DriverError("INVALID_VALUE", "the addresses are not reserved")
        if self._within(address, size):
            raise DriverError("INVALID_VALUE", "memory is mapped there")
        with enough_memory():
            arena.map_file(address, size, physical.file, offset)
        self._mappings[address] = Mapping(size, physical, handle)
        physical.maps += 1

    def unmap(self, arena: HostArena, address: int, size: int) -> None:
        """Takes whole mappings away."""
        for a in self._whole(address, size):
            self.allow(arena, a, self._mappings[a].size, 0)
            self._host_access.pop(a, None)
            mapping = self._mappings.pop(a)
            arena.map_file(a, mapping.size, -1, 0)
            mapping.physical.maps -= 1
            self._end(arena, mapping.physical)

    def allow(self, arena: HostArena, address: int, size: int, flags: int) -> None:
        """Gives the device access to whole mappings, or takes it (0)."""
        for a in self._whole(address, size):
            if flags and a not in self._access:
                arena.register(a, self._mappings[a].size, MAPPED)
            elif not flags and a in self._access:
                arena.release(a)
            self._access.pop(a, None)
            if flags:
                self._access[a] = flags

    def allow_host(self, address: int, size: int, flags: int, place: int) -> None:
        """Gives the host access to whole mappings of its memory, or takes it; `place`: itself, or a node."""
        found = self._whole(address, size)
        if any(self._mappings[a].physical.place not in {HOST: (HOST, NODE), NODE: (NODE,)}[place] for a in found):
            raise DriverError("INVALID_VALUE", "the memory is elsewhere")
        self._host_access.update(dict.fromkeys(found, flags))

    def at(self, address: int) -> Mapping:
        """The mapping that holds an address."""
        return self._mappings[self._first(address)]

    def access(self, address: int, place: int) -> int:
        """The access (CUmemAccess_flags) to the memory at an address, of the device or the host."""
        return (self._access if place == DEVICE else self._host_access).get(self._first(address), 0)

    def _first(self, address: int) -> int:
        for a in self._within(address, 1):
            return a
        raise DriverError("INVALID_VALUE", "nothing is mapped there")

    def released(self, arena: HostArena, physical: Physical) -> bool:
        """Ends one use of a handle; returns whether it was the last."""
        physical.references -= 1
        self._end(arena, physical)
        return physical.references <= 0

    def _end(self, arena: HostArena, physical: Physical) -> None:
        if physical.references <= 0 and not physical.maps:
            os.close(physical.file)
            if physical.place == DEVICE:
                arena.used -= physical.size

    def _within(self, address: int, size: int) -> list[int]:
        """First addresses of the mappings that have bytes of a range."""
        return sorted(a for a, m in self._mappings.items() if a < address + size and address < a + m.size)

    def _whole(self, address: int, size: int) -> list[int]:
        """The same; fails unless they are the range without a gap."""
        found = self._within(address, size)
        inside = all(address <= a and a + self._mappings[a].size <= address + size for a in found)
        if not found or not inside or sum(self._mappings[a].size for a in found) != size:
            raise DriverError("INVALID_VALUE", "the range is not one of whole mappings")
        return found


def _check_multiples(*values: int) -> None:
    if any(v % GRANULARITY for v in values):
        raise DriverError("INVALID_VALUE", f"no multiple of {GRANULARITY}")
