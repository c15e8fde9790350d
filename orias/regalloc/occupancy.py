"""Occupied registers at each point: a segment tree over points whose nodes hold register masks."""

from typing import Final, final


@final
class Occupancy:
    """Masks of occupied registers over the points 0 to `points` - 1.

    ``cover[n]``: registers occupied throughout node n; ``seen[n]``: registers occupied somewhere in node n.
    """

    __slots__ = ("cover", "seen", "size")

    def __init__(self, points: int) -> None:
        size = 1
        while size < points + 1:
            size *= 2
        self.size: Final[int] = size
        self.cover: Final[list[int]] = [0] * (2 * size)
        self.seen: Final[list[int]] = [0] * (2 * size)

    def add(self, start: int, end: int, mask: int) -> None:
        """Occupy the registers of `mask` at the points [start, end)."""
        if start >= end:
            return
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
