"""Device memory inside the address space of the process: a device pointer is a pointer of the host, too.

The simulator's memory is one array over the whole user address space.  Device, managed and pinned memory come from a
reserved range; nothing is freed but its pages, so that an address is never given out twice and a use after free is
found.  Host memory of the process (``malloc``) is accessible as on devices with heterogeneous memory management.
"""

import ctypes
import mmap
import os
from bisect import bisect_right, insort
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orias.driver.results import DriverError
from orias.sim.core.banked_memory import Arena
from orias.sim.core.device_heap import GUARD
from orias.sim.core.sim_errors import Fault, Misaligned
from orias.sim.math.ops_int import I64, U8

Arr = npt.NDArray[Any]

_FIRST: Final = 1 << 16
"""The address of the array's first byte; the system maps nothing below it."""
_LAST: Final = 1 << 47
POOL_SIZE: Final = 1 << 42
"""Bytes of addresses for device memory."""
_POOLS: Final = range(0x200000000000, 0x600000000000, POOL_SIZE)
"""Where they may begin: the first place that the program has left free (allocators reserve addresses anywhere)."""
PAGE: Final = 4096
FILE_NAME: Final = "orias device memory"
"""The name of the file that has what other processes share."""
_GRAIN: Final = 512
"""The driver gives memory in multiples of this, and hardware notices no access up to there."""
NO_RESERVE: Final = 0x4000
"""MAP_NORESERVE, which Python's mmap lacks before 3.13."""
_SHARED: Final = 0x01
_PRIVATE: Final = 0x02
_FIXED: Final = 0x10
_ANONYMOUS: Final = 0x20
_FLAGS: Final = _PRIVATE | _ANONYMOUS | NO_RESERVE | 0x100000
"""The last is MAP_FIXED_NOREPLACE."""
MAPPED: Final = "mapped"
"""The kind of memory that the program has put at an address itself."""
_DONTNEED: Final = 4
_REMOVE: Final = 9
"""The same for pages of a file: MADV_REMOVE."""
_CHUNK: Final = 1 << 20
_FAILED: Final = (1 << 64) - 1
"""MAP_FAILED."""


_made: list["HostArena"] = []


class OutOfMemory(Exception):
    """The device has less memory than asked for."""


@contextmanager
def enough_memory() -> Iterator[None]:
    """Makes the lack of memory or addresses, and of what the system gives, the driver's error."""
    try:
        yield
    except (OutOfMemory, OSError) as e:
        raise DriverError("OUT_OF_MEMORY", str(e)) from None


def memory_in_use() -> int:
    """Bytes of device memory that this process has allocated."""
    return sum(arena.used for arena in _made)


class Shadow(Protocol):
    """Follows what is written to device memory."""

    def fill(self, address: int, size: int) -> None:
        """A range was written."""

    def copy(self, to: int, source: int, size: int) -> None:
        """A range was copied."""


class Range(NamedTuple):
    """An allocation: first address, bytes, and what it is (``device``, ``managed``, ``host``, ``mapped``)."""

    start: int
    size: int
    kind: str


class HostArena(Arena):
    """Memory of a device with `capacity` bytes; offsets in its array are addresses less ``base``."""

    __slots__ = (
        "_file", "_freed", "_host", "_libc", "_passing", "_shared", "capacity", "exact", "origins", "pool", "ranges", "used", "written"
    )  # fmt: skip

    def __init__(self, capacity: int) -> None:
        super().__init__(16, _FIRST)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        self._libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.pool: Final = next((at for at in _POOLS if self._reserved(at)), 0)
        """Where device memory begins."""
        if not self.pool:
            raise OutOfMemory(f"none of the ranges of addresses from 0x{_POOLS.start:x} on is free")
        everything: Any = (ctypes.c_ubyte * (_LAST - _FIRST)).from_address(_FIRST)
        self.data = np.frombuffer(everything, U8)
        self.refresh()
        self.top = self.pool - _FIRST
        self.capacity = capacity
        self.exact = bool(os.environ.get("ORIAS_EXACT"))
        """Accesses between the end of an allocation and the next multiple of the grain fail."""
        self.used = 0
        self.ranges: dict[int, Range] = {}
        """Allocations by first address."""
        self.origins: dict[int, str] = {}
        """Where the program made an allocation, by first address, in words; filled where tools check."""
        self._passing: list[int] | None = None
        self._host: Final[list[tuple[int, int]]] = []
        """Spans of the host's memory that the present launch uses."""
        self._freed: list[Range] = []
        """Allocations that were given back, by first address."""
        self._file = -1
        """The file of the pages that other processes can have, each as far from its start as from ``pool``; -1: none yet."""
        self._shared: Final[set[int]] = set()
        """Numbers of these pages."""
        self.written: Shadow | None = None
        """Follows what is written, where a tool asks for it."""

    @staticmethod
    def shared(capacity: int) -> "HostArena":
        """The memory of this process's device, made at the first call."""
        if not _made:
            with enough_memory():
                _made.append(HostArena(capacity))
        return _made[0]

    def _reserved(self, at: int) -> bool:
        """Whether a pool could be reserved at an address; a kernel before 4.17 takes it for a wish."""
        got = self._libc.mmap(at, POOL_SIZE, mmap.PROT_READ | mmap.PROT_WRITE, _FLAGS, -1, 0)
        if got not in (None, at, _FAILED):
            self._libc.munmap(got, POOL_SIZE)
        return bool(got == at)

    def in_pool(self, address: int) -> bool:
        """Whether the device has given an address out: addresses of the program's own memory lie below and above those."""
        return self.pool <= address < self.pool + POOL_SIZE

    def each_in_pool(self, address: Arr) -> npt.NDArray[np.bool_]:
        """:meth:`in_pool` for many addresses."""
        return (address >= self.pool) & (address < self.pool + POOL_SIZE)

    def allocate(self, size: int, name: str, align: int = 256, clear: bool = True, gap: int = GUARD) -> int:
        """Allocates `size` zero bytes at a multiple of `align`, with `gap` unmapped ones after it; returns the address."""
        self._check_room(size)
        address = self.reserve(size, align, gap)
        self.provide(address, size, name)
        if self._passing is not None and (name == "parameters" or name.endswith("descriptors")):
            self._passing.append(address)
        return address

    def reserve(self, size: int, align: int = 256, gap: int = GUARD) -> int:
        """Takes addresses for `size` bytes at a multiple of `align`, which no other allocation gets; returns the first."""
        start = -(-(self.top + self.base) // align) * align - self.base
        if start + size + GUARD > self.pool + POOL_SIZE:
            raise OutOfMemory("all addresses were given out")
        self.top = self._end(start, size) + gap
        return start + self.base

    def provide(self, address: int, size: int, name: str) -> None:
        """Puts memory at reserved addresses where there is none now."""
        self._check_room(size)
        start = address - self.base
        end = self._end(start, size)
        self._enter(start, end - start, name)
        self.used += size
        self.ranges[address] = Range(address, size, name)
        i = bisect_right(self._freed, address, key=lambda r: r.start) - 1
        if i >= 0 and self._freed[i].start == address:
            del self._freed[i]
        if self.written is not None and name != "device":
            self.written.fill(address, end - start)

    def _check_room(self, size: int) -> None:
        if self.used + size > self.capacity:
            raise OutOfMemory(f"{size} bytes, {self.capacity - self.used} are free")

    def _end(self, start: int, size: int) -> int:
        return start + size if self.exact else -(-(start + size) // _GRAIN) * _GRAIN

    def _enter(self, start: int, size: int, name: str) -> None:
        i = bisect_right(self.starts, start)
        self.starts.insert(i, start)
        self.ends.insert(i, start + size)
        self.names.insert(i, name)
        self.changes += 1
        self._last = (0, 0)

    def among_others(self, offset: Arr) -> Arr | None:
        """As in :class:`Arena`: the program's own memory shares its pages with what else the program holds."""
        other = ~self.each_in_pool(offset + self.base)
        return other if other.any() else None

    def release(self, address: int) -> bool:
        """Ends an allocation and gives its pages back; False if none starts at the address."""
        known = self.ranges.pop(address, None)
        if known is None:
            return False
        start = address - self.base
        i = bisect_right(self.starts, start) - 1
        del self.starts[i], self.ends[i], self.names[i]
        self.changes += 1
        self._last = (0, 0)
        if self.in_pool(address) and known.kind != MAPPED:
            self.used -= known.size
            if known.kind in ("device", "managed", "host"):
                insort(self._freed, known)
            first, last = -(-address // PAGE) * PAGE, (address + known.size) // PAGE * PAGE
            if last > first:
                # Only a whole allocation is shared; its first and last page may be others' too.
                advice = _REMOVE if first // PAGE in self._shared else _DONTNEED
                self._libc.madvise(first, last - first, advice)
        return True

    def register(self, address: int, size: int, kind: str = "host") -> None:
        """Makes memory that is there known as an allocation."""
        self._enter(address - self.base, size, kind)
        self.ranges[address] = Range(address, size, kind)
        if self.written is not None and kind == MAPPED:
            self.written.fill(address, size)

    def take(self, size: int) -> None:
        """Counts memory that has no address yet."""
        self._check_room(size)
        self.used += size

    def map_file(self, address: int, size: int, file: int, offset: int) -> None:
        """Puts bytes of a file at reserved addresses; -1: new memory."""
        flags = _FIXED | (_SHARED if file >= 0 else _PRIVATE | _ANONYMOUS | NO_RESERVE)
        if self._libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, offset) != address:
            raise OutOfMemory("the system maps no more memory")

    def share(self, address: int, size: int) -> int:
        """Moves the pages of an allocation to a file, for other processes; returns its descriptor.

        The bytes that other allocations have on the first and the last page are shared, too.
        """
        if self._file < 0:
            self._file = os.memfd_create(FILE_NAME)
            os.ftruncate(self._file, POOL_SIZE)
        pages = range(address // PAGE, -(-(address + size) // PAGE))
        new = [p for p in pages if p not in self._shared]
        if new:
            # What is shared already is at the ends: the pages between are in no other allocation.
            first, last = new[0] * PAGE, (new[-1] + 1) * PAGE
            for start in range(first, last, _CHUNK):
                part = self.data[start - self.base : min(start + _CHUNK, last) - self.base]
                if part.any():
                    os.pwrite(self._file, part.data, start - self.pool)
            self.map_file(first, last - first, self._file, first - self.pool)
            self._shared.update(new)
        return self._file

    def find(self, address: int) -> Range | None:
        """The allocation that holds an address."""
        i = bisect_right(self.starts, address - self.base) - 1
        if i >= 0 and address - self.base < max(self.ends[i], self.starts[i] + 1):
            return self.ranges.get(self.starts[i] + self.base)
        return None

    @contextmanager
    def launch(self) -> Iterator[None]:
        """Releases at its end what a launch allocates for itself (copies of parameters, descriptors)."""
        self._passing = []
        try:
            yield
        finally:
            for address in self._passing:
                self.release(address)
            self._passing = None
            self._host.clear()
            self.changes += 1

    def _where(self, address: int, size: int) -> str:
        i = bisect_right(self._freed, address, key=lambda r: r.start) - 1
        if i >= 0 and address < self._freed[i].start + self._freed[i].size:
            r = self._freed[i]
            what = f"{address - r.start} bytes into {r.kind} memory of {r.size} bytes at 0x{r.start:x}"
            origin = self.origins.get(r.start, "")
            return f"{size} bytes at 0x{address:x} are {what}{origin and ', ' + origin}, which was given back"
        return super()._where(address, size)

    def offsets(self, address: Arr, size: int, align: int) -> Arr:
        """Checked offsets; what is in no allocation may be mapped memory of the host."""
        try:
            return super().offsets(address, size, align)
        except Fault as fault:
            if fault.error is Misaligned or not self._of_host(address, size):
                raise
            return (address - np.uint64(self.base)).view(I64)

    def _of_host(self, address: Arr, size: int) -> bool:
        """Whether all of these addresses are outside of the device's memory, readable and writable in this process."""
        if self.each_in_pool(address).any():
            return False
        if _within(address, size, self._host).all():
            return True
        spans = _writable(int(address.min()), int(address.max()) + size)
        if not _within(address, size, spans).all():
            return False
        if self._passing is not None:
            self._host.extend(s for s in spans if s not in self._host and _within(address, size, [s]).any())
            self.changes += 1
        return True

    def reachable(self) -> tuple[Arr, Arr]:
        """As in :class:`Arena`, with the host's memory that the present launch has used already."""
        first, last = self.pool, self.pool + POOL_SIZE
        # The system may count what is beside the device's memory to its mapping.
        host = [part for low, high in self._host for part in ((low, min(high, first)), (max(low, last), high))]
        parts = [(low - self.base, high - self.base) for low, high in host if low < high]
        both = sorted([*parts, *zip(self.starts, self.ends, strict=True)])
        spans = np.array(both, I64).reshape(-1, 2)
        return np.ascontiguousarray(spans[:, 0]), np.ascontiguousarray(spans[:, 1])


def _within(address: Arr, size: int, spans: list[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Which accesses are inside of one of these spans of addresses."""
    found = np.zeros(len(address), np.bool_)
    for low, high in spans:
        found |= (address >= np.uint64(low)) & (address <= np.uint64(high - size))
    return found


def _writable(first: int, last: int) -> list[tuple[int, int]]:
    """The spans of this process's memory that can be read and written and have addresses from `first` on, before `last`."""
    spans: list[tuple[int, int]] = []
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            span, rights = line.split(maxsplit=2)[:2]
            low, high = (int(x, 16) for x in span.split("-"))
            if rights.startswith("rw") and high > first and low < last:
                spans.append((low, high))
    return spans
