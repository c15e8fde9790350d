"""Regular expressions, each compiled when a module first asks for it.

The module ``re`` with what it imports, and compiling a dozen patterns, take a seventh of a short compile.  So the block of code
that the command line starts from (:mod:`orias.code_block`) also has what ``re`` made of each text, and ``re`` stays out.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Final

    Parts = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
    """What the matcher takes beside the text: flags, code, number of groups, their names, and the name of each."""

_made: "Final[dict[str, Pattern[str]]]" = {}
_ready: "Final[dict[str, Parts]]" = {}


def regex(text: str) -> "Pattern[str]":
    """The pattern of a text; its flags stand in the text, as in ``(?a)``."""
    found = _made.get(text)
    if found is None:
        found = _made[text] = _from_parts(text, _ready[text]) if text in _ready else _by_re(text)
    return found


def use_parts(parts: "dict[str, Parts]") -> None:
    """Make these patterns from their parts from now on."""
    _ready.update(parts)


def all_parts() -> "dict[str, Parts]":
    """The parts of the patterns that were asked for; without those that this Python does not rebuild from them."""
    out = dict(_ready)
    for text in _made:
        if text not in out:
            try:
                parts = _parts(text)
                if _from_parts(text, parts) == _by_re(text):
                    out[text] = parts
            except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
                continue
    return out


def _by_re(text: str) -> "Pattern[str]":
    import re

    return re.compile(text)


def _from_parts(text: str, parts: "Parts") -> "Pattern[str]":
    from _sre import compile as make  # type: ignore[import-not-found]

    made: Pattern[str] = make(text, *parts)
    return made


def _parts(text: str) -> "Parts":
    """The parts that the module ``re`` of Python 3.11 to 3.14 hands to its matcher."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    tree = _parser.parse(text)
    state = tree.state
    names: list[str | None] = [None] * state.groups
    for name, number in state.groupdict.items():
        names[number] = name
    return state.flags, [int(n) for n in _compiler._code(tree, 0)], state.groups - 1, state.groupdict, tuple(names)
