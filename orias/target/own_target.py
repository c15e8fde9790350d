"""The target that a PTX text names itself: what Orias compiles for if nobody says another one."""

from typing import Final

from orias.patterns import regex
from orias.target.target_names import COMPILED, RENAMED

_DIRECTIVE: Final = r"(?s)//[^\n]*|/\*.*?\*/|\.target\s+(?:\w+\s*,\s*)*?(?:sm|compute)_(\d+)([af]?)\b"


def own_target(*ptx: str | bytes) -> str:
    """The target of the first ``.target`` directive, such as ``sm_90a``; the highest one of several texts.

    For one that no code is made for (``sm_53``, ``sm_82``) the next higher that there is; ``sm_75`` if no text names one.
    """
    return f"sm_{max([_named(text) for text in ptx], key=COMPILED.index, default=COMPILED[0])}"


def _named(ptx: str | bytes) -> str:
    """The target that a text names, without ``sm_``."""
    text = ptx.decode("utf-8", "replace") if isinstance(ptx, bytes) else ptx
    found = next((m for m in regex(_DIRECTIVE).finditer(text) if m[1]), None)
    if found is None:
        return COMPILED[0]
    number = int(found[1][:9])
    name = f"{RENAMED.get(number, number)}{found[2]}"
    if name in COMPILED:
        return name
    higher = [c for c in COMPILED if c.isdigit() and int(c) > number and not found[2]]
    return higher[0] if higher else COMPILED[0]
