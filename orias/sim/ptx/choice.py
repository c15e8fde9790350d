"""What PTX leaves open, as one bundle of decisions: results that differ between bundles are not defined by the program."""

from typing import Final, NamedTuple


class Choice(NamedTuple):
    """One way to decide everything that PTX leaves undefined.

    ``poison``: 32-bit pattern of registers before they are written, its low byte that of shared and local memory.
    ``reverse``: colliding stores and atomics of one instruction take threads in falling order.  ``approx``: units in the last place
    (of f32; the same relative size for others) by which results of ``.approx`` functions are off.  ``other``: the other one of two
    values where the manual names none (quotient by zero, NaN to integer, payload of a NaN that neg or abs passes).
    ``serial``: threads run one after the other, the last one first, each as far as it can.
    """

    poison: int
    reverse: bool
    approx: int
    other: bool
    serial: bool = False


CANONICAL: Final = Choice(0x7FF0DEAD, False, 0, False)
"""As the SASS simulator decides."""

CHOICES: Final = (
    Choice(0x00000000, True, 6, True),
    Choice(0xFFFFFFFF, False, -6, True),
    Choice(0x3F9D70A4, True, 0, False, True),
)
"""Other ways; chosen so that each open question is answered differently by at least two."""
