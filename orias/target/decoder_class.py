"""Which instruction table an SM uses: its *decoder class*.

All SMs of a class decode every word alike, as measured by decoding the words of one SM with ``nvdisasm -b`` for
another.  The suffixes ``a`` and ``f`` make no difference.
"""

from orias.target.profile import profile_of_sm


def table_of_sm(sm: int) -> str:
    """The name of the table of an SM number such as 87; KeyError naming the SM if there is none."""
    return profile_of_sm(sm).table


def table_of_name(name: str) -> str:
    """The table of a target or decoder name: ``sm_90a``, ``SM100f``, ``90``.  KeyError naming it if there is none."""
    digits = name.lower().removeprefix("sm").removeprefix("_").rstrip("af")
    try:
        return table_of_sm(int(digits))
    except (KeyError, ValueError):
        raise KeyError(name) from None
