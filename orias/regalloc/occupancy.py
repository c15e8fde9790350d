"""Occupied registers at each point: masks of points and of blocks of points."""

from typing import Final, final

_LEAST_SHIFT: Final = 4
"""A block has at least 2 ** 4 points: most intervals lie in one or two such blocks.  Longer functions have longer blocks."""
_NEAR: Final = 16
"""Up to so many points are looked at by what begins and ends there."""


@final
class Occupancy:
    """Masks of occupied registers over the points 0 to `points` - 1.

    ``whole[b]``: registers that one interval occupies throughout block b; ``seen[b]``: registers occupied somewhere in block b;
    ``at[p]``: registers occupied at point p by intervals that do not fill its block.
    """

    __slots__ = ("at", "ends", "seen", "shift", "size", "starts", "whole")

    def __init__(self, points: int) -> None:
        self.shift: Final[int] = max(_LEAST_SHIFT, points.bit_length() // 2 - 2)
        blocks = (points >> self.shift) + 1
        self.size: Final[int] = blocks << self.shift
        self.at: Final[list[int]] = [0] * self.size
        self.whole: Final[list[int]] = [0] * (blocks + 1)
        self.seen: Final[list[int]] = [0] * (blocks + 1)
        self.starts: Final[list[int]] = [0] * (self.size + 1)
        """The registers that become occupied at each point, and, in ``ends``, those that are no longer."""
        self.ends: Final[list[int]] = [0] * (self.size + 1)

    def add(self, start: int, end: int, mask: int) -> None:
        """Occupy the registers of `mask` at the points [start, end)."""
        if start >= end:
            return
        self.starts[start] |= mask
        self.ends[end] |= mask
        at = self.at
        seen = self.seen
        shift = self.shift
        first = start >> shift
        last = end >> shift
        seen[first] |= mask
        if first == last:
            for p in range(start, end):
                at[p] |= mask
            return
        if start != first << shift:
            for p in range(start, (first + 1) << shift):
                at[p] |= mask
            first += 1
        whole = self.whole
        for b in range(first, last):
            whole[b] |= mask
            seen[b] |= mask
        if end != last << shift:
            seen[last] |= mask
            for p in range(last << shift, end):
                at[p] |= mask

    def taken(self, start: int, end: int) -> int:
        """Registers occupied at some point in [start, end)."""
        if start >= end:
            return 0
        shift = self.shift
        first = start >> shift
        last = end >> shift
        if first == last:
            mask = self.whole[first]
            for held in self.at[start:end]:
                mask |= held
            return mask
        mask = 0
        if start != first << shift:
            mask = self.whole[first]
            first += 1
            for held in self.at[start : first << shift]:
                mask |= held
        for held in self.seen[first:last]:
            mask |= held
        if end != last << shift:
            mask |= self.whole[last]
            for held in self.at[last << shift : end]:
                mask |= held
        return mask

    def before(self, start: int, reach: int) -> int:
        """Registers occupied at one of the `reach` points before `start`; right only for those that are free at `start`."""
        if reach > _NEAR:
            return self.taken(max(0, start - reach), start)
        mask = 0
        for ended in self.ends[max(0, start - reach + 1) : start + 1]:
            mask |= ended
        return mask

    def after(self, end: int, reach: int) -> int:
        """Registers occupied at one of the `reach` points from `end` on; right only for those that are free just before it."""
        if reach > _NEAR:
            return self.taken(end, min(end + reach, self.size))
        mask = 0
        for started in self.starts[end : end + reach]:
            mask |= started
        return mask
