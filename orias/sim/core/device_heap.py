"""The heap of the device, from which kernels take memory by ``malloc``: as on a device it has a size, 8 MiB unless a program sets it."""

from typing import Final, Protocol

GUARD: Final = 4096
"""Unmapped bytes after an allocation."""
SIZE: Final = 8 << 20
"""Bytes, where a program does not say: cuCtxGetLimit(CU_LIMIT_MALLOC_HEAP_SIZE) of CUDA's driver."""
_GRAIN: Final = 16
"""Objects begin at multiples of it, and take one at least."""
_WELL_APART: Final = 4096
"""So many objects at a time have the gaps of other allocations; more of them have small ones, or the gaps would be all memory."""
_GAP: Final = 112


class Memory(Protocol):
    """Device memory (:class:`orias.sim.core.banked_memory.Arena`)."""

    def allocate(self, size: int, name: str, align: int = ..., clear: bool = ..., gap: int = ...) -> int:
        """The address of a new allocation."""
        ...

    def release(self, address: int) -> bool:
        """End an allocation."""
        ...


class DeviceHeap:
    """What is left of the heap, and its objects."""

    __slots__ = ("objects", "room")

    def __init__(self) -> None:
        self.room = SIZE
        self.objects: Final[dict[int, int]] = {}
        """Bytes taken, by address."""

    def resize(self, size: int) -> None:
        """Set the size of the heap in bytes; objects stay."""
        self.room = size - sum(self.objects.values())

    def allocate(self, memory: Memory, size: int) -> int:
        """The address of a new object of so many bytes; 0 if too few are left in the heap."""
        taken = -(-max(size, 1) // _GRAIN) * _GRAIN
        if taken > self.room:
            return 0
        address = memory.allocate(
            max(size, 1), "malloc", _GRAIN, gap=GUARD if len(self.objects) < _WELL_APART else _GAP
        )
        self.objects[address] = taken
        self.room -= taken
        return address

    def release(self, memory: Memory, address: int) -> bool:
        """End an object; False if none begins at the address."""
        taken = self.objects.pop(address, 0)
        if not taken:
            return False
        self.room += taken
        return memory.release(address)
