"""Special registers that keep their value while a thread runs, and those with few bits."""

from typing import Final

FIXED_SPECIALS: Final = ("SR_TID.", "SR_CTAID.", "SR_LANEID", "SR_CgaCtaId")
"""Prefixes of their names; a second read of such a register gives the same value."""
SPECIAL_BITS: Final[dict[str, int]] = {
    "SR_LANEID": 0x1F,
    "SR_TID.X": 0x3FF,
    "SR_TID.Y": 0x3FF,
    "SR_TID.Z": 0x3F,
    "SR_CTAID.X": 0x7FFFFFFF,
    "SR_CTAID.Y": 0xFFFF,
    "SR_CTAID.Z": 0xFFFF,
}
"""Bits that may be 1, by the largest blocks and grids of CUDA (the same for all targets): 1024 by 1024 by 64 threads, 2^31 - 1 by 65,535 by
65,535 blocks."""
