"""Which instruction table an SM uses: its *decoder class*.

Checked by decoding the words of one SM with ``nvdisasm -b`` of another: SMs of a class answer alike; the suffixes ``a`` and ``f`` change
nothing.
"""

from typing import Final

_CLASSES: Final[dict[int, int]] = {
    75: 75, 80: 80, 86: 86, 87: 86, 88: 86, 89: 89, 90: 90, 100: 100, 101: 110, 103: 103, 110: 110, 120: 120, 121: 120,
}  # fmt: skip


def table_of_sm(sm: int) -> str:
    """The name of the table of an SM number such as 87; KeyError naming the SM if there is none."""
    found = _CLASSES.get(sm)
    if found is None:
        raise KeyError(f"sm_{sm}")
    return f"sm_{found}"


def table_of_name(name: str) -> str:
    """The table of a target or decoder name: ``sm_90a``, ``SM100f``, ``90``.  KeyError naming it if there is none."""
    digits = name.lower().removeprefix("sm").removeprefix("_").rstrip("af")
    if not digits.isdigit() or int(digits) not in _CLASSES:
        raise KeyError(name)
    return table_of_sm(int(digits))


def table_numbers() -> list[int]:
    """The SM numbers that name tables."""
    return sorted(set(_CLASSES.values()))
