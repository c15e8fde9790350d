"""What the addresses of one access of a warp cost: lines and sectors of global memory, turns of the banks of shared memory."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_BANKS: Final = 32
SECTOR: Final = 32
"""Bytes that global memory moves at least."""
_LINE: Final = 128


def conflicts(addresses: Sequence[int], size: int) -> int:
    """Times that a shared access of `size` bytes a thread takes its banks: the most distinct words of one bank, for each part of the warp.

    64-bit accesses are served in halves of the warp, 128-bit ones in quarters.
    """
    if not len(addresses):
        return 1
    # The same pattern some words further takes other banks as often.
    first = addresses[0] // 4 * 4
    return _turns(tuple([a - first for a in addresses]), size)


@lru_cache(maxsize=1 << 14)
def _turns(addresses: tuple[int, ...], size: int) -> int:
    parts = least_turns(size)
    out = 0
    for part in _parts(addresses, parts):
        count = [0] * _BANKS
        for word in {a // 4 + k for a in part for k in range(parts)}:
            count[word % _BANKS] += 1
        out += max(count)
    return max(1, out)


def least_turns(size: int) -> int:
    """Turns of the banks that a full warp's access of `size` bytes a thread takes without conflicts."""
    return max(1, size // 4)


def global_cost(addresses: Sequence[int], size: int) -> tuple[int, int]:
    """(lines of 128 bytes, sectors of 32 bytes) that a warp's access of `size` bytes a thread touches."""
    sectors = sectors_of(addresses, size)
    return len({s * SECTOR // _LINE for s in sectors}), len(sectors)


def sectors_of(addresses: Sequence[int], size: int) -> set[int]:
    """The numbers of the sectors that an access of `size` bytes a thread touches."""
    last = size - 1
    sectors = {a // SECTOR for a in addresses}
    sectors.update([(a + last) // SECTOR for a in addresses])
    return sectors


def _parts(addresses: Sequence[int], count: int) -> list[Sequence[int]]:
    """The addresses in `count` parts of nearly the same length, the first ones longer."""
    each, more = divmod(len(addresses), count)
    out: list[Sequence[int]] = []
    at = 0
    for k in range(count):
        end = at + each + (k < more)
        if end > at:
            out.append(addresses[at:end])
        at = end
    return out
