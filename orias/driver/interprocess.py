"""Device memory and events between processes (CUDA IPC): what their handles say, and the memory of others that is open.

Memory that a process gives away lies in a file without a name (:meth:`HostArena.share`), which others open by the number
of the process and of its descriptor.  Work is done when the call that starts it returns, so an event of another process
is one that has come.
"""

import os
import struct
from typing import Final, NamedTuple

from orias.driver.host_memory import FILE_NAME, MAPPED, PAGE, HostArena, enough_memory
from orias.driver.results import DriverError

HANDLE_BYTES: Final = 64
"""CU_IPC_HANDLE_SIZE."""
_LAYOUT: Final = struct.Struct("<8sIiQQ")
"""What a handle is of, number of the process, descriptor of the file, first byte there, bytes."""
_MEMORY: Final = b"oriasmem"
_EVENT: Final = b"oriasevt"


class Handle(NamedTuple):
    """A handle as numbers, in the order of its bytes."""

    kind: bytes
    process: int
    file: int = -1
    offset: int = 0
    size: int = 0

    def packed(self) -> bytes:
        """Its bytes."""
        return _LAYOUT.pack(*self).ljust(HANDLE_BYTES, b"\0")


def _read(given: bytes, kind: bytes) -> Handle:
    """A handle of another process; fails for those of this one, as on devices."""
    handle = Handle(*_LAYOUT.unpack_from(given))
    if handle.kind != kind:
        raise DriverError("INVALID_VALUE", "no handle of this kind")
    if handle.process == os.getpid():
        raise DriverError("INVALID_CONTEXT", "a handle of this process")
    return handle


def memory_handle(arena: HostArena, address: int) -> bytes:
    """The handle of the device memory that holds an address."""
    found = arena.find(address)
    if found is None or found.kind != "device":
        raise DriverError("INVALID_VALUE", "no device memory that the program allocated")
    with enough_memory():
        file = arena.share(found.start, found.size)
    return Handle(_MEMORY, os.getpid(), file, found.start - arena.pool, found.size).packed()


def event_handle() -> bytes:
    """The handle of an event."""
    return Handle(_EVENT, os.getpid()).packed()


def check_event(given: bytes) -> None:
    """Fails unless this is the handle of an event of another process."""
    _read(given, _EVENT)


class Opened:
    """Memory of other processes that this one has open."""

    def __init__(self) -> None:
        self._addresses: Final[dict[Handle, int]] = {}
        self._uses: Final[dict[int, int]] = {}

    def add(self, arena: HostArena, given: bytes) -> int:
        """Puts the memory of a handle at addresses of this process; returns the first."""
        handle = _read(given, _MEMORY)
        address = self._addresses.get(handle, 0)
        if not address:
            address = self._addresses[handle] = _mapped(arena, handle)
        self._uses[address] = self._uses.get(address, 0) + 1
        return address

    def close(self, arena: HostArena, address: int) -> None:
        """Ends one use of memory, which goes with the last."""
        if address not in self._uses:
            raise DriverError("INVALID_VALUE", "no memory of another process starts there")
        self._uses[address] -= 1
        if self._uses[address]:
            return
        del self._uses[address]
        handle = next(h for h, a in self._addresses.items() if a == address)
        del self._addresses[handle]
        arena.release(address)
        first, size = _pages(handle)
        with enough_memory():
            arena.map_file(address - (handle.offset - first), size, -1, 0)


def _mapped(arena: HostArena, handle: Handle) -> int:
    first, size = _pages(handle)
    try:
        file = os.open(f"/proc/{handle.process}/fd/{handle.file}", os.O_RDWR)
    except OSError as e:
        raise DriverError("MAP_FAILED", f"the memory's process is not there: {e}") from None
    try:
        if FILE_NAME not in os.readlink(f"/proc/self/fd/{file}"):
            raise DriverError("MAP_FAILED", "the memory's process has ended")
        with enough_memory():
            pages = arena.reserve(size, PAGE)
            arena.map_file(pages, size, file, first)
    finally:
        os.close(file)
    address = pages + handle.offset - first
    arena.register(address, handle.size, MAPPED)
    return address


def _pages(handle: Handle) -> tuple[int, int]:
    """First byte and bytes of the pages of the file that hold the memory."""
    first = handle.offset // PAGE * PAGE
    return first, -(-(handle.offset + handle.size) // PAGE) * PAGE - first
