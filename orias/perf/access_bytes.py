"""The bytes that a memory access moves per thread."""

from typing import Final

from orias.isa.operations import data_words

_NARROW: Final[dict[str, int]] = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}


def access_size(mods: tuple[str, ...]) -> int:
    """Bytes per thread of a load, store or atomic with these modifiers."""
    size = 4 * data_words(mods)
    for m in mods:
        size = _NARROW.get(m, size)
    return size
