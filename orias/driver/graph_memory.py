"""Memory that graphs own: an address from its node on, and memory there from a run of the node until it is freed."""

from bisect import bisect_right
from typing import Any, Final

from orias.driver.host_memory import HostArena, enough_memory
from orias.driver.results import DriverError

USED, MOST_USED, RESERVED, MOST_RESERVED = 0, 1, 2, 3
"""CUgraphMem_attribute."""


class Allocation:
    """What an allocation node owns; ``given``: the parameters of the node (CUDA_MEM_ALLOC_NODE_PARAMS)."""

    def __init__(self, address: int, size: int, owner: Any, given: bytes) -> None:
        self.address: Final = address
        self.size: Final = size
        self.owner: Final = owner
        """The graph of the node."""
        self.given: Final = given
        self.freed_by: set[int] = set()
        """The graphs (``id``) with a node that frees it."""


class GraphMemory:
    """The allocations of all graphs of a device; memory that was freed stays reserved until it is trimmed."""

    def __init__(self) -> None:
        self.allocations: Final[dict[int, Allocation]] = {}
        """By address, also those that have no memory now."""
        self._starts: Final[list[int]] = []
        """Their addresses, which grow."""
        self._live: Final[set[int]] = set()
        self.bytes: Final = [0, 0, 0, 0]
        """By number of CUgraphMem_attribute."""

    def reserve(self, arena: HostArena, size: int, owner: Any, given: bytes) -> Allocation:
        """Gives an allocation its address."""
        found = Allocation(arena.reserve(size), size, owner, given)
        self.allocations[found.address] = found
        self._starts.append(found.address)
        return found

    def freed_by(self, address: int, graph: Any) -> Allocation:
        """The allocation that a new node of a graph frees: of its owner once, or of other graphs."""
        found = self.allocations.get(address)
        if found is None:
            raise DriverError("INVALID_VALUE", "no graph owns memory that starts there")
        if id(found.owner) in found.freed_by or (graph is found.owner and found.freed_by):
            raise DriverError("INVALID_VALUE", "a node frees the memory already")
        found.freed_by.add(id(graph))
        return found

    def provide(self, arena: HostArena, allocation: Allocation) -> None:
        """Puts memory at the address of an allocation."""
        if self.is_live(allocation):
            raise DriverError("INVALID_VALUE", "memory of the graph was not freed since its last launch")
        with enough_memory():
            arena.provide(allocation.address, allocation.size, "device")
        self._live.add(allocation.address)
        count = self.bytes
        count[USED] += allocation.size
        count[RESERVED] = max(count[RESERVED], count[USED])
        count[MOST_USED] = max(count[MOST_USED], count[USED])
        count[MOST_RESERVED] = max(count[MOST_RESERVED], count[RESERVED])

    def is_live(self, allocation: Allocation) -> bool:
        """Whether it has memory."""
        return allocation.address in self._live

    def holds(self, address: int, size: int) -> bool:
        """Whether a range is in an allocation, with memory or without."""
        i = bisect_right(self._starts, address) - 1
        return i >= 0 and address + size <= self._starts[i] + self.allocations[self._starts[i]].size

    def freed(self, address: int) -> None:
        """Notes that an address has no memory any more, if a graph owns it."""
        if address in self._live:
            self._live.remove(address)
            self.bytes[USED] -= self.allocations[address].size

    def trim(self) -> None:
        """Gives back what is reserved and not in use."""
        self.bytes[RESERVED] = self.bytes[USED]

    def reset(self, attribute: int) -> None:
        """Lets a greatest number of bytes begin again at the present one."""
        self.bytes[attribute] = self.bytes[attribute - 1]
