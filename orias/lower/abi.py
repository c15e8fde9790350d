"""The calling convention of PTX functions: where arguments and results live, what a call destroys.

Source: register-allocation inventory, section (f) (ptxas 13.0.88 on sm_75, 90 and 100).
"""

from typing import Final, final

ARG_FIRST: Final = 4
ARG_LAST: Final = 15
RETURN_ADDRESS: Final = 20
"""Low register of the return address pair of functions."""
HELPER_RETURN_ADDRESS: Final = 2
"""The same for helper subroutines."""
RETURN_MAX: Final = 48
"""Largest result in bytes that comes back in registers; a larger one goes to memory of the caller, whose local address is in R4."""


def _scratch_r() -> int:
    mask = 1 << 0
    for n in [*range(3, 16), 20, 21]:
        mask |= 1 << n
    for n in range(32, 255):
        if n % 8 < 4:
            mask |= 1 << n
    return mask


def _scratch_ur() -> int:
    mask = 0
    for n in range(64):
        if n < 36:
            mask |= 1 << n
    return mask


SCRATCH_R: Final = _scratch_r()
SCRATCH_P: Final = 0x7F
SCRATCH_UR: Final = _scratch_ur()
SCRATCH_UP: Final = 0x7F
SCRATCH_B: Final = 0x3F


@final
class Place:
    """Where one value lives: first register, or (``reg`` -1) byte offset in the outgoing stack area."""

    __slots__ = ("reg", "size", "stack", "words")

    def __init__(self, size: int, reg: int, stack: int) -> None:
        self.size: int = size
        self.words: int = (size + 3) // 4
        self.reg: int = reg
        self.stack: int = stack


def arguments(sizes: list[tuple[int, int]], first: int = ARG_FIRST) -> tuple[list[Place], int]:
    """Places of the arguments with these (size, alignment) in bytes, and the bytes of stack they need.

    First fit in R4..R15 at natural alignment; holes are filled later, even behind an argument that did not fit.
    """
    free = [ARG_FIRST <= n <= ARG_LAST and n >= first for n in range(ARG_LAST + 1)]
    places: list[Place] = []
    stack = 0
    for size, align in sizes:
        words = (size + 3) // 4
        step = max(1, min(align, 16) // 4)
        found = -1
        n = -(-ARG_FIRST // step) * step
        while n + words - 1 <= ARG_LAST:
            if all(free[n : n + words]):
                found = n
                break
            n += step
        if found >= 0:
            for k in range(words):
                free[found + k] = False
            places.append(Place(size, found, -1))
        else:
            natural = max(4, align)
            stack = (stack + natural - 1) & -natural
            places.append(Place(size, -1, stack))
            stack += words * 4
    return places, (stack + 7) & -8
