"""Decisions on behaviour that PTX leaves undefined: a result that differs between two sets of decisions is undefined."""

from typing import Final, NamedTuple


class Choice(NamedTuple):
    """One set of decisions.

    ``poison``: 32-bit pattern of registers before they are written; shared and local memory hold what goes with it there (``unwritten_byte``).
    ``reverse``: conflicting stores and atomics of one instruction take threads in descending order.  ``approx``: error
    of ``.approx`` functions in units in the last place of f32 (the same relative error for other types).  ``other``:
    the second of two values where the manual names none (quotient by zero, NaN to integer, payload of a NaN that neg or
    abs passes).  ``serial``: threads run one after the other, the last one first, each as far as it can.  ``product``: error in units in the
    last place of products without a rounding mode, which a compiler may fuse with an addition (not rounding them moves
    them by less than one).  ``fuse``: additions take in the product that makes an operand, the first one (1) or the second one (2)
    if both are products, 0 for none; 3: the first one, over conditional branches too.  ``schedule``: a seed by which warps and divergent paths take turns, 0 for the usual order.
    ``ticks``: what clocks count in a step of the interpreter.
    """

    poison: int
    reverse: bool
    approx: int
    other: bool
    serial: bool = False
    product: int = 0
    fuse: int = 0
    schedule: int = 0
    ticks: int = 1


ACROSS: Final = 3
"""``fuse`` over conditional branches."""

CANONICAL: Final = Choice(0x7FF0DEAD, False, 0, False)
"""The decisions of the SASS simulator."""

CHOICES: Final = (
    Choice(0x00000000, True, 6, True, ticks=977),
    Choice(0xFFFFFFFF, False, -6, True, ticks=5),
    Choice(0x49742400, True, 0, False, True),
    Choice(0xC9742400, False, 0, False),
    Choice(0x80000001, False, 0, False),
)
"""Other decisions; for each open question at least two of them differ.  Their registers are zero, all ones, a large positive and
negative number, as integers and as floats, and the smallest integer but one."""
