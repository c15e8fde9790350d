"""Occupied registers at each point: a segment tree over points whose nodes hold register masks."""

from typing import Final, final

_NEAR: Final = 16
"""Up to so many points are faster looked at one by one than in the tree."""


@final
class Occupancy:
    """Masks of occupied registers over the points 0 to `points` - 1.

    ``cover[n]``: registers occupied throughout node n; ``seen[n]``: registers occupied somewhere in node n.
    """

    __slots__ = ("cover", "ends", "seen", "size", "starts")

    def __init__(self, points: int) -> None:
        size = 1
        while size < points + 1:
            size *= 2
        self.size: Final[int] = size
        self.cover: Final[list[int]] = [0] * (2 * size)
        self.seen: Final[list[int]] = [0] * (2 * size)
        self.starts: Final[list[int]] = [0] * (size + 1)
        """The registers that become occupied at each point, and, in ``ends``, those that are no longer."""
        self.ends: Final[list[int]] = [0] * (size + 1)

    def add(self, start: int, end: int, mask: int) -> None:
        """Occupy the registers of `mask` at the points [start, end)."""
        if start >= end:
            return
        self.starts[start] |= mask
        self.ends[end] |= mask
        cover = self.cover
        seen = self.seen
        left = start + self.size
        right = end + self.size
        # The nodes around a node that has seen the mask have seen it too.
        a = left >> 1
        while a and seen[a] & mask != mask:
            seen[a] |= mask
            a >>= 1
        a = right - 1 >> 1
        while a and seen[a] & mask != mask:
            seen[a] |= mask
            a >>= 1
        while left < right:
            if left & 1:
                cover[left] |= mask
                seen[left] |= mask
                left += 1
            if right & 1:
                right -= 1
                cover[right] |= mask
                seen[right] |= mask
            left >>= 1
            right >>= 1

    def taken(self, start: int, end: int) -> int:
        """Registers occupied at some point in [start, end)."""
        cover = self.cover
        seen = self.seen
        left = start + self.size
        right = end + self.size
        a = left
        b = right - 1
        if a == b:
            mask = seen[a]
        else:
            mask = 0
            while left < right:
                if left & 1:
                    mask |= seen[left]
                    left += 1
                if right & 1:
                    right -= 1
                    mask |= seen[right]
                left >>= 1
                right >>= 1
                a >>= 1
                b >>= 1
                mask |= cover[a] | cover[b]
            while a != b:
                a >>= 1
                b >>= 1
                mask |= cover[a] | cover[b]
        while a > 1:
            a >>= 1
            mask |= cover[a]
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
