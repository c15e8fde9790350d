"""The 21-bit control word of an instruction (bits 105..125 of the 128).

Layout, measured on every supported target: stall 0..3, yield 4, write barrier 5..7, read barrier 8..10, wait mask
11..16, reuse flags 17..20.  Barrier number 7 means none.
"""

from typing import Final

NO_BARRIER: Final = 7
STALL_MASK: Final = 15
YIELD: Final = 1 << 4
WRITE_SHIFT: Final = 5
READ_SHIFT: Final = 8
WAIT_SHIFT: Final = 11
REUSE_SHIFT: Final = 17
MAX_STALL: Final = 15
MAX_YIELD_STALL: Final = 11
"""Longest stall that may go with the yield bit (5-bit codes above 27 are illegal)."""


def pack(stall: int, yield_bit: bool, write: int, read: int, wait: int, reuse: int = 0) -> int:
    """The control word with these fields; stall in cycles, barriers 0..5 or NO_BARRIER, wait a 6-bit mask."""
    return (
        stall
        | (YIELD if yield_bit else 0)
        | write << WRITE_SHIFT
        | read << READ_SHIFT
        | wait << WAIT_SHIFT
        | reuse << REUSE_SHIFT
    )


def stall(word: int) -> int:
    """Stall count in cycles."""
    return word & STALL_MASK


def write_barrier(word: int) -> int:
    """Scoreboard that the results signal, or NO_BARRIER."""
    return (word >> WRITE_SHIFT) & 7


def read_barrier(word: int) -> int:
    """Scoreboard that the source reads signal, or NO_BARRIER."""
    return (word >> READ_SHIFT) & 7


def wait_mask(word: int) -> int:
    """Mask of the scoreboards that the instruction waits for before issue."""
    return (word >> WAIT_SHIFT) & 63


def reuse(word: int) -> int:
    """Reuse flags of the source fields, 4 bits."""
    return (word >> REUSE_SHIFT) & 15


def with_stall(word: int, cycles: int) -> int:
    """The control word with another stall count."""
    return (word & ~STALL_MASK) | cycles


def with_reuse(word: int, flags: int) -> int:
    """The control word with other reuse flags."""
    return (word & ~(15 << REUSE_SHIFT)) | flags << REUSE_SHIFT
