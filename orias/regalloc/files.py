"""The register files: which registers may be given out, and what the calling convention keeps.

Sources: register-allocation inventory, sections 2a, 2d, 2e and 2f (ptxas 13.0.88).
"""

from typing import Final

from orias.isa.operand import K_B, K_P, K_R, K_UP, K_UR, reg
from orias.ori.ir import PRIVATE, QUADS, Func

FILES: Final[tuple[int, ...]] = (K_R, K_UR, K_P, K_UP, K_B)
HIGHEST_R: Final = 252
"""Highest R register ptxas was ever seen to use."""
RESERVE: Final = 2
"""The reported register count is the highest index + 1 + RESERVE."""
_HIGHEST_UR: Final = 60
_SCRATCH_UR_LAST: Final = 35


def _callee_saved_r() -> int:
    mask = 1 << 2
    for n in [*range(16, 20), *range(22, 32)]:
        mask |= 1 << n
    for n in range(32, HIGHEST_R + 1):
        if n % 8 >= 4:
            mask |= 1 << n
    return mask


CALLEE_SAVED_R: Final = _callee_saved_r()
CALLEE_SAVED_B: Final = 0xFC0


QUAD_PREDICATE: Final = reg(K_P, 6)
"""Belongs to the sampling of gradients by quads, with the registers of the note QUADS."""


def usable(fn: Func, file: int) -> int:
    """Mask of the registers of a file that may be given to values of this function."""
    if file == K_R:
        top = min(HIGHEST_R, fn.max_regs - RESERVE - 1)
        return ((1 << (top + 1)) - 1) & ~(2 | fn.notes.get(QUADS, 0))
    if file == K_UR:
        # A function would have to save UR36 and up: it keeps to the scratch ones.
        top = _HIGHEST_UR if fn.kind == "entry" else _SCRATCH_UR_LAST
        return ((1 << (top + 1)) - 1) & ~15
    if file in (K_P, K_UP):
        return 0x3F if file == K_P and QUADS in fn.notes else 0x7F
    return 0xFFF


def kept(fn: Func, file: int) -> int:
    """Mask of the registers that the function must hand back unchanged."""
    if fn.kind != "func":
        return 0
    if file == K_R:
        return 0 if PRIVATE in fn.notes else CALLEE_SAVED_R
    if file == K_B:
        return CALLEE_SAVED_B
    return 0
