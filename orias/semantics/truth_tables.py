"""Truth tables of three inputs, as in LOP3 and PLOP3: bit ``4a + 2b + c`` of a table is f(a, b, c)."""

from typing import Final

INPUTS: Final = (0xF0, 0xCC, 0xAA)
"""The truth table of each input by itself."""
WEIGHTS: Final = (4, 2, 1)
"""Weight of each input in the index of a table's bit."""
NO_INPUT: Final = 3
"""In :func:`composed`: an input that is zero."""


def depends_on(table: int, k: int) -> bool:
    """True if the function depends on input `k`."""
    # Of each two bits whose indices differ in this input alone, the lower one shows whether they are equal.
    return (table ^ table >> WEIGHTS[k]) & ~INPUTS[k] & 0xFF != 0


def with_constant(table: int, k: int, value: bool) -> int:
    """The table with input `k` always false or always true."""
    weight = WEIGHTS[k]
    out = 0
    for i in range(8):
        out |= (table >> (i | weight if value else i & ~weight) & 1) << i
    return out


def with_equal(table: int, j: int, k: int) -> int:
    """The table with input `k` always equal to input `j`."""
    weight = WEIGHTS[k]
    out = 0
    for i in range(8):
        out |= (table >> (i | weight if i & WEIGHTS[j] else i & ~weight) & 1) << i
    return out


def permuted(table: int, order: list[int]) -> int:
    """The table for permuted inputs: input ``order[k]`` becomes input `k`."""
    out = 0
    for i in range(8):
        at = 0
        for place, k in enumerate(order):
            if i & WEIGHTS[place]:
                at |= WEIGHTS[k]
        out |= (table >> at & 1) << i
    return out


def of_two(table: int, j: int, k: int) -> int:
    """The function of inputs `j` and `k` alone (others false), as four bits: bit ``2j + k``."""
    out = 0
    for i in range(4):
        out |= (table >> ((WEIGHTS[j] if i & 2 else 0) | (WEIGHTS[k] if i & 1 else 0)) & 1) << i
    return out


def composed(table: int, k: int, inner: int, at: list[int], inner_at: list[int]) -> int:
    """The table of `table` with the function `inner` as its input `k`.

    `at` and `inner_at` map each input of the two functions to an input of the result, or to :data:`NO_INPUT`.
    """
    out = 0
    for i in range(8):
        v = _index(i, inner_at)
        bit = inner >> v & 1
        v = _index(i, at) & ~WEIGHTS[k] | (WEIGHTS[k] if bit else 0)
        out |= (table >> v & 1) << i
    return out


def _index(i: int, at: list[int]) -> int:
    """The index for a function whose inputs are those of index `i` at the given places."""
    v = 0
    for place, k in enumerate(at):
        if k != NO_INPUT and i & WEIGHTS[k]:
            v |= WEIGHTS[place]
    return v
