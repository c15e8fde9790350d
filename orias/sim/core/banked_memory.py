"""Memories of the simulator: the arena of device memory, and banked memories (shared per block, local per thread).

Accesses take arrays of addresses, one per thread, and check each address; an invalid one raises
:class:`~orias.sim.core.sim_errors.Fault` with the position of the first thread at fault.
"""

from bisect import bisect_right
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from orias.sim.core.device_heap import GUARD, DeviceHeap
from orias.sim.core.sim_errors import Fault, Misaligned, OutOfBounds
from orias.sim.math.ops_int import I64, U8, U16, U32, U64
from orias.sim.texture.sampler import Sampler

Arr = npt.NDArray[Any]

GLOBAL_BASE: Final = 0x7F0000000000
PAGE: Final = 4096
"""Device memory has a multiple of so many bytes."""
_DEAD: Final = 64 << 20
"""Bytes of released memory whose addresses are not given out again."""

_TYPES: Final[dict[int, np.dtype[Any]]] = {1: U8, 2: U16, 4: U32, 8: U64}


class WriteLog(Protocol):
    """Follows what a kernel writes to device memory."""

    def note(self, offset: Arr, size: int) -> None:
        """Bytes will be written: `size` of them, which cross no page, from each offset on."""


class _Flat:
    """A byte array with views as wider words."""

    __slots__ = ("data", "views")

    def __init__(self, size: int, fill: int = 0) -> None:
        size = -(-size // 16) * 16
        self.data: Arr = np.full(size, fill, U8) if fill else np.zeros(size, U8)
        self.views: dict[int, Arr] = {}
        self.refresh()

    def refresh(self) -> None:
        self.views = {n: self.data.view(t) for n, t in _TYPES.items()}

    def load(self, offset: Arr, size: int) -> list[Arr]:
        """Values at checked offsets: words (uint32) for sizes 4, 8 and 16, else one array of the narrow type."""
        if size <= 2:
            return [self.views[size][offset if size == 1 else offset >> 1]]
        first = offset >> 2
        v = self.views[4]
        return [v[first + k] if k else v[first] for k in range(size >> 2)]

    def store(self, offset: Arr, size: int, values: list[Arr]) -> None:
        """Stores values in the shape that :meth:`load` returns; where offsets are equal the last thread wins."""
        if size <= 2:
            self.views[size][offset if size == 1 else offset >> 1] = values[0].astype(_TYPES[size])
            return
        first = offset >> 2
        v = self.views[4]
        for k in range(size >> 2):
            v[first + k if k else first] = values[k]


class Arena(_Flat):
    """Device memory: allocations at realistic addresses, with unmapped gaps between them."""

    __slots__ = (
        "_last",
        "_reuse_at",
        "base",
        "bindings",
        "changes",
        "ends",
        "heap",
        "log",
        "names",
        "objects",
        "paired",
        "starts",
        "top",
    )

    def __init__(self, size: int, base: int = GLOBAL_BASE) -> None:
        super().__init__(-(-size // PAGE) * PAGE)
        self.base = base
        """The address of the first byte of ``data``."""
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.names: list[str] = []
        self.top = 0
        self._last = (0, 0)
        self._reuse_at = _DEAD
        """Where ``top`` is looked at again by :meth:`reuse`."""
        self.changes = 0
        """How often what :meth:`reachable` tells has changed."""
        self.objects: dict[int, Any] = {}
        """Textures, surfaces and samplers, by number."""
        self.paired = True
        """A handle is a texture's number in the low 20 bits and a sampler's above (up to sm_89), else one number."""
        self.bindings: dict[str, int] = {}
        """Handles, by the name of a texture or surface reference."""
        self.heap = DeviceHeap()
        self.log: WriteLog | None = None
        """Told of what is written by stores and asynchronous copies, before it is written."""

    def __getstate__(self) -> dict[str, Any]:
        """The state without memory that was never given out."""
        state = {name: getattr(self, name) for name in (*Arena.__slots__, "data") if name != "log"}
        state["data"] = self.data[: -(-self.top // PAGE) * PAGE]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.log = None
        self.refresh()

    def among_others(self, offset: Arr) -> Arr | None:
        """Which offsets lie on pages where others than kernels write beside allocations; None: none of them."""
        return None

    def store(self, offset: Arr, size: int, values: list[Arr]) -> None:
        """As :meth:`_Flat.store`, and told to the log."""
        if self.log is not None:
            self.log.note(offset, size)
        super().store(offset, size, values)

    def handle(self, thing: Any) -> int:
        """The handle of a texture, surface or sampler: 32 bits, not 0, the same at every call for one object."""
        number = next((k for k, x in self.objects.items() if x is thing), 0)
        if not number:
            number = len(self.objects) + 1
            self.objects[number] = thing
        return number << 20 | number if self.paired and not isinstance(thing, Sampler) else number

    def allocate(self, size: int, name: str, align: int = 256, clear: bool = True, gap: int = GUARD) -> int:
        """Allocates `size` zero bytes at a multiple of `align`; returns the address.

        Without `clear` the bytes may have any values: all of them are written next.  `gap`: unmapped bytes after it.
        """
        start = -(-self.top // align) * align
        end = start + size
        if end + GUARD > len(self.data):
            # A quarter more, so that small allocations after a large one do not copy it.
            need = end + GUARD + (end >> 2)
            grown = np.empty(max(2 * len(self.data), -(-need // PAGE) * PAGE), U8)
            used = min(self.ends[-1] + GUARD, len(self.data)) if self.ends else 0
            grown[:used] = self.data[:used]
            self.data = grown
            self.refresh()
        if clear:
            self.data[start:end] = 0
        self.changes += 1
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(name)
        self.top = end + gap
        return self.base + start

    def allocate_like(self, other: "Arena") -> None:
        """The allocations of another arena, at the same addresses, of zero bytes; before any other."""
        for start, end, name in zip(other.starts, other.ends, other.names, strict=True):
            self.top = start
            self.allocate(end - start, name, 1)

    def release(self, address: int) -> bool:
        """Ends an allocation; False if no allocation starts at the address."""
        start = address - self.base
        i = bisect_right(self.starts, start) - 1
        if i < 0 or self.starts[i] != start:
            return False
        self.ends[i] = start
        self.changes += 1
        self._last = (0, 0)
        return True

    def reuse(self) -> None:
        """Between launches: gives addresses out again if many of them, up to the last one, were those of earlier launches.

        Addresses of the last launches stay invalid for a while, so that a kernel that has kept one is told.
        """
        if self.top < self._reuse_at:
            return
        k = len(self.starts)
        while k and (self.starts[k - 1] == self.ends[k - 1] or self.names[k - 1] == "parameters"):
            k -= 1
        if k < len(self.starts) and self.top - self.starts[k] >= _DEAD:
            self.top = self.starts[k]
            del self.starts[k:], self.ends[k:], self.names[k:]
            self._last = (0, 0)
            self.changes += 1
        self._reuse_at = self.top + _DEAD

    def write(self, address: int, data: bytes | Arr) -> None:
        """Writes bytes at an address, unchecked."""
        o = address - self.base
        raw = np.frombuffer(data, U8) if isinstance(data, bytes) else np.ascontiguousarray(data).reshape(-1).view(U8)
        self.data[o : o + len(raw)] = raw

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address; a Fault unless they are all in one allocation."""
        return self.bytes_at(address, size).tobytes()

    def bytes_at(self, address: int, size: int) -> Arr:
        """:meth:`read` as a view of the memory."""
        self.offsets(np.array([address], U64), size, 1)
        o = address - self.base
        return self.data[o : o + size]

    def string(self, address: int) -> bytes:
        """The zero-terminated bytes at an address."""
        self.offsets(np.array([address], U64), 1, 1)
        o = address - self.base
        end = self.ends[bisect_right(self.starts, o) - 1]
        raw = self.data[o:end].tobytes()
        return raw.split(b"\0", 1)[0]

    def reachable(self) -> tuple[Arr, Arr]:
        """First offsets and ends of what accesses may reach, by first offset; :attr:`changes` tells when that is another."""
        return np.array(self.starts, I64), np.array(self.ends, I64)

    def holds(self, low: int, high: int) -> bool:
        """Whether the bytes from offset `low` up to `high` are in one allocation."""
        if low >= self._last[0] and high <= self._last[1]:
            return True
        i = bisect_right(self.starts, low) - 1
        if i >= 0 and high <= self.ends[i]:
            self._last = (self.starts[i], self.ends[i])
            return True
        return False

    def offsets(self, address: Arr, size: int, align: int) -> Arr:
        """Checked offsets in the arena for accesses of `size` bytes."""
        if align > 1:
            bad = (address & np.uint64(align - 1)) != 0
            if bad.any():
                i = int(np.argmax(bad))
                raise Fault(Misaligned, f"address 0x{int(address[i]):x} is not a multiple of {align}", i)
        o = (address - np.uint64(self.base)).view(I64)
        if self.holds(int(o.min()), int(o.max()) + size):
            return o
        starts, ends = np.array(self.starts, I64), np.array(self.ends, I64)
        which = np.searchsorted(starts, o, side="right") - 1
        bad = which < 0
        bad |= o + size > (ends[which] if len(ends) else 0)
        if bad.any():
            i = int(np.argmax(bad))
            raise Fault(OutOfBounds, self._where(int(address[i]), size), i)
        return o

    def _where(self, address: int, size: int) -> str:
        text = f"{size} bytes at 0x{address:x} are in no allocation"
        o = address - self.base
        i = bisect_right(self.starts, o) - 1
        if i >= 0 and o < self.ends[i] + GUARD and self.ends[i] > self.starts[i]:
            text += f" ({o - self.starts[i]} bytes into {self.names[i]} of {self.ends[i] - self.starts[i]} bytes)"
        elif i + 1 < len(self.starts) and self.starts[i + 1] - o <= GUARD:
            text += f" ({self.starts[i + 1] - o} bytes before {self.names[i + 1]})"
        return text


class Banked(_Flat):
    """A memory with one bank per block or thread; each bank has the addresses from `base` to `base + size`."""

    __slots__ = ("_fill", "_total", "base", "name", "reach", "size", "stride")

    def __init__(self, banks: int, size: int, base: int, name: str, fill: int, lazy: bool = False) -> None:
        self.base = base
        self.size = size
        self.reach = 0
        """End of the highest access so far, in bytes from `base`."""
        self.stride = -(-size // 16) * 16
        self.name = name
        self._fill = fill
        self._total = banks * self.stride
        """Bytes that the first access allocates; 0 if they are allocated."""
        super().__init__(16 if lazy else self._total, fill)
        if not lazy:
            self._total = 0

    @property
    def pending(self) -> bool:
        """Whether the memory is still to be allocated."""
        return self._total != 0

    def make(self) -> None:
        """Allocates the memory."""
        if self._total:
            self.data = np.full(self._total, self._fill, U8)
            self._total = 0
            self.refresh()

    def offsets(self, address: Arr, bank: Arr, size: int, align: int) -> Arr:
        """Checked offsets for accesses of `size` bytes at (int64) addresses of the given banks."""
        if self._total:
            self.make()
        if align > 1:
            bad = (address & (align - 1)) != 0
            if bad.any():
                i = int(np.argmax(bad))
                raise Fault(Misaligned, f"{self.name} address 0x{int(address[i]):x} is not a multiple of {align}", i)
        o = address - self.base
        end = int(o.max()) + size
        self.reach = max(self.reach, end)
        if int(o.min()) < 0 or end > self.size:
            bad = (o < 0) | (o + size > self.size)
            i = int(np.argmax(bad))
            raise Fault(
                OutOfBounds,
                f"{size} bytes at {self.name} address 0x{int(address[i]):x}, outside "
                f"0x{self.base:x}..0x{self.base + self.size:x}",
                i,
            )
        result: Arr = bank * self.stride + o
        return result
