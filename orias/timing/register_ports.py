"""Read ports and reuse cache of the register file of a sub-core.

Model (Huerta et al., MICRO 2025, sections 5.1.1 and 5.3): two banks by register number, one read port each; an
instruction of fixed latency reads its sources within three cycles, and one that cannot is held in the stage before, with
all that follows it.  A source with a reuse flag stays in the entry of its bank and operand position until the next read
of that entry, hit or not; a hit needs no port.
"""

from typing import Final, final

BANKS: Final = 2
SLOTS: Final = 3
_WINDOW: Final = 3


@final
class RegisterPorts:
    """The ports and the cache of one sub-core.

    ``free``: for each bank, the first cycle at which its port is free.  ``kept``: for each bank and position, the warp and
    register kept there, as ``warp << 8 | register``, -1 for none.  ``hits``, ``reads``: operand reads with and without a
    hit.
    """

    __slots__ = ("free", "hits", "kept", "reads")

    def __init__(self) -> None:
        self.free: Final[list[int]] = [0] * BANKS
        self.kept: Final[list[int]] = [-1] * (BANKS * SLOTS)
        self.hits: int = 0
        self.reads: int = 0

    def read(self, now: int, warp: int, sources: list[int], flags: int) -> int:
        """Books the reads of an instruction that could read from cycle `now` on; the cycle in which it begins to.

        ``sources``: ``register << 2 | position`` of each 32-bit read.  ``flags``: the reuse flags by position.
        """
        need = [0] * BANKS
        for s in sources:
            register, position = s >> 2, s & 3
            bank = register & 1
            entry = bank * SLOTS + position
            if self.kept[entry] == warp << 8 | register:
                self.hits += 1
            else:
                need[bank] += 1
            self.reads += 1
            self.kept[entry] = warp << 8 | register if flags >> position & 1 else -1
        return self.book(now, need)

    def book(self, now: int, need: list[int]) -> int:
        """Books `need` reads of each bank for an instruction that could read from cycle `now` on; the cycle in which it begins to."""
        start = now
        for b in range(BANKS):
            if need[b]:
                last = max(now, self.free[b]) + need[b] - 1
                start = max(start, last - _WINDOW + 1)
        for b in range(BANKS):
            if need[b]:
                self.free[b] = max(start, self.free[b]) + need[b]
        return start
