"""Lays out variables in their sections (measured with ptxas 13.0.88 on modules of mixed sizes and alignments).

Variables that other modules can see (visible and weak) come before local ones, each in PTX order:
:func:`creation_order`.  Initialised and zero global variables are then sorted by alignment, largest first, in PTX order
within one alignment (:func:`place_by_alignment`); constant variables of executable modules and shared variables follow
each other without sorting (:func:`place_in_order`).
"""

from orias.cubin.model import LOCAL, Variable


def align_up(value: int, align: int) -> int:
    """The smallest multiple of ``align`` that is at least ``value``; ``align`` is a power of two, or 0 for 1."""
    return (value + align - 1) & -align if align > 1 else value


def creation_order(variables: list[Variable]) -> list[Variable]:
    """Visible and weak variables first, then local ones."""
    return [v for v in variables if v.binding != LOCAL] + [v for v in variables if v.binding == LOCAL]


def _place(variables: list[Variable]) -> int:
    end = 0
    for v in variables:
        if v.offset < 0:
            v.offset = align_up(end, v.align)
        end = max(end, v.offset + v.size)
    return end


def place_in_order(variables: list[Variable]) -> int:
    """Set the offsets that are still -1, in creation order; returns the size of the section."""
    return _place(creation_order(variables))


def place_by_alignment(variables: list[Variable]) -> int:
    """Set the offsets that are still -1, largest alignment first; returns the size of the section."""
    return _place(sorted(variables, key=lambda v: -v.align))


def global_bytes(variables: list[Variable]) -> int:
    """Bytes of global memory of a placed module: initialised section plus zero section (the ``gmem`` of reports)."""
    ends = [0, 0]
    for v in variables:
        if v.space == "global" and not v.extern and v.offset >= 0:
            kind = 0 if v.data is None else 1
            ends[kind] = max(ends[kind], v.offset + v.size)
    return sum(ends)
