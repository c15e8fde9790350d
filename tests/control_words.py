"""Control words with one field changed, to plant faults."""

from orias.isa.isa_table import CTL_SHIFT
from orias.timing.ctl import READ_SHIFT, WAIT_SHIFT, WRITE_SHIFT


def with_control(word: int, control: int) -> int:
    """An instruction with another control word."""
    return word & ~(0x1FFFFF << CTL_SHIFT) | control << CTL_SHIFT


def with_write(word: int, barrier: int) -> int:
    """The control word with another write barrier."""
    return (word & ~(7 << WRITE_SHIFT)) | barrier << WRITE_SHIFT


def with_read(word: int, barrier: int) -> int:
    """The control word with another read barrier."""
    return (word & ~(7 << READ_SHIFT)) | barrier << READ_SHIFT


def with_wait(word: int, mask: int) -> int:
    """The control word with another wait mask."""
    return (word & ~(63 << WAIT_SHIFT)) | mask << WAIT_SHIFT
