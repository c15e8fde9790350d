"""Lays out variables in their sections (measured with ptxas 13.0.88 on modules of mixed sizes and alignments).

Variables that other modules can see (visible and weak) come before local ones, each in PTX order:
:func:`creation_order`.  Global variables, and constant ones where functions have sections of their own, are then sorted, the most
aligned first, then the smallest (:func:`by_alignment`); equal ones come in the order that a merge sort of a linked list leaves
(:func:`_merged`).  With -g shared variables of functions and of the module are turned round first (:func:`by_size_backwards`).  Constant variables of other executables and
shared variables follow each other without sorting (:func:`place_in_order`).
"""

from orias.cubin.model import LOCAL, Variable


def align_up(value: int, align: int) -> int:
    """The smallest multiple of ``align`` that is at least ``value``; ``align`` is a power of two, or 0 for 1."""
    return (value + align - 1) & -align if align > 1 else value


def creation_order(variables: list[Variable]) -> list[Variable]:
    """Visible and weak variables first, then local ones."""
    return [v for v in variables if v.binding != LOCAL] + [v for v in variables if v.binding == LOCAL]


def _merged(items: list[int], keys: list[tuple[int, int]]) -> list[int]:
    """Numbers sorted by their keys as ptxas sorts a linked list.

    The list is dealt out to two, each new number at the front; both are sorted, and joined with the first one's number ahead of its equals.
    """
    if len(items) < 2:
        return items
    left = _merged(items[0::2][::-1], keys)
    right = _merged(items[1::2][::-1], keys)
    out: list[int] = []
    a, b = 0, 0
    while a < len(left) and b < len(right):
        if keys[left[a]] <= keys[right[b]]:
            out.append(left[a])
            a += 1
        else:
            out.append(right[b])
            b += 1
    return out + left[a:] + right[b:]


def by_alignment(places: list[tuple[int, int]]) -> list[int]:
    """The order in memory of variables with these alignments and sizes, as numbers in the list: the most aligned first, then the smallest."""
    return _merged(list(range(len(places))), [(-align, size) for align, size in places])


def by_size_backwards(sizes: list[int]) -> list[int]:
    """The order in which shared variables of several functions come with -g, as numbers in the list: sorted by size, then turned round."""
    return _merged(list(range(len(sizes))), [(0, size) for size in sizes])[::-1]


def _place(variables: list[Variable], end: int) -> int:
    for v in variables:
        if v.offset < 0:
            v.offset = align_up(end, v.align)
        end = max(end, v.offset + v.size)
    return end


def place_in_order(variables: list[Variable], first: int = 0) -> int:
    """Set the offsets that are still -1, in creation order from `first` on; returns the size of the section."""
    return _place(creation_order(variables), first)


def place_by_alignment(variables: list[Variable], first: int = 0) -> int:
    """Set the offsets that are still -1, in the order of :func:`by_alignment` from `first` on; returns the size of the section."""
    created = creation_order(variables)
    return _place([created[n] for n in by_alignment([(v.align, v.size) for v in created])], first)


def global_bytes(variables: list[Variable]) -> int:
    """Bytes of global memory of a placed module: initialised section plus zero section (the ``gmem`` of reports)."""
    ends = [0, 0]
    for v in variables:
        if v.space == "global" and not v.extern and v.offset >= 0:
            kind = 0 if v.data is None else 1
            ends[kind] = max(ends[kind], v.offset + v.size)
    return sum(ends)
