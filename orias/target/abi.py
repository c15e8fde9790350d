"""The calling convention of PTX functions: places of arguments and results, registers that a call may change.

Source: ``docs/facts/register-allocation.md``, "Calling convention".
"""

from typing import Final, final

SMALL_PARAMETERS: Final = 0x1100
"""Largest size of kernel parameters, in bytes, with the usual place and records; PTX before 8.1 allows no more."""
MOST_PARAMETERS: Final = 0x7FFC
LOCAL_MEMORY: Final = 1 << 19
"""Bytes of local memory that a thread can have, on every target (CUDA programming guide, compute capabilities)."""
STACK: Final = 1
"""Register of the stack pointer."""
ARG_FIRST: Final = 4
ARG_LAST: Final = 15
RETURN_ADDRESS: Final = 20
"""Low register of the return address pair of functions."""
HELPER_RETURN_ADDRESS: Final = 2
"""Low register of the return address pair of helper subroutines."""
RETURN_MAX: Final = 48
"""Largest result, in bytes, that a function returns in registers; R4 has the local address for a larger one."""


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
        if n <= 35:
            mask |= 1 << n
    return mask


SCRATCH_R: Final = _scratch_r()
SCRATCH_P: Final = 0x7F
SCRATCH_UR: Final = _scratch_ur()
SCRATCH_UP: Final = 0x7F
SCRATCH_B: Final = 0x3F
_BANK_R: Final = (1 << 253) - (1 << 2)
"""R2 to R252; R0 and R1 are neither scratch nor preserved."""
KEPT_R: Final = _BANK_R & ~SCRATCH_R
"""Mask of the R registers that a function preserves."""
KEPT_B: Final = 0xFFF & ~SCRATCH_B
LAST_SCRATCH_UR: Final = 35


@final
class Place:
    """The place of one value: its first register, or (``reg`` -1) its byte offset in the outgoing stack area."""

    __slots__ = ("reg", "size", "stack", "words")

    def __init__(self, size: int, reg: int, stack: int) -> None:
        self.size: int = size
        self.words: int = (size + 3) // 4
        self.reg: int = reg
        self.stack: int = stack


def arguments(sizes: list[tuple[int, int]], first: int = ARG_FIRST) -> tuple[list[Place], int]:
    """The places of arguments given as (size, alignment) in bytes, and the stack bytes they need.

    First fit in R4..R15 at natural alignment.  Later arguments fill holes, even after one that went to the stack.  Size 0 stands
    for an array of unknown size, which is always on the stack (as with ptxas 13.0.88) and last there.
    """
    free = [ARG_FIRST <= n <= ARG_LAST and n >= first for n in range(ARG_LAST + 1)]
    places: list[Place] = []
    stack = 0
    for size, align in sizes:
        words = (size + 3) // 4
        step = max(1, min(align, 16) // 4)
        found = -1
        n = -(-ARG_FIRST // step) * step
        while size and n + words - 1 <= ARG_LAST:
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
