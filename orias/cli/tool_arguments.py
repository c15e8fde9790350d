"""Reads the arguments of a sub-command, or of a program called by another tool's name."""

import sys
from collections.abc import Collection, Mapping
from typing import Final, final

from orias.cli.toolerror import ToolError


@final
class Arguments:
    """The files, the flags, and the values of each option in their order."""

    __slots__ = ("files", "flags", "values")

    def __init__(self) -> None:
        self.files: Final[list[str]] = []
        self.flags: Final[set[str]] = set()
        self.values: Final[dict[str, list[str]]] = {}

    def last(self, name: str, default: str = "") -> str:
        """The last value of an option."""
        return self.values.get(name, [default])[-1]


def scan(
    arguments: list[str],
    flags: Collection[str],
    values: Collection[str],
    aliases: Mapping[str, str] = {},
    unknown: str = "unknown option '{}'",
) -> Arguments:
    """The arguments; a value follows its option, or stands after ``=``.

    `flags` and `values`: the legal options; `aliases`: other names of some.  ``-`` is a file.  Raises ToolError for other
    options, with the text `unknown`, and for a missing value.
    """
    found = Arguments()
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-") or word == "-":
            found.files.append(word)
            continue
        name, equals, value = word.partition("=")
        name = aliases.get(name, name)
        if name in values:
            following = value if equals else next(rest, None)
            if following is None:
                raise ToolError(f"argument expected after '{word}'")
            found.values.setdefault(name, []).append(following)
        elif name in flags and not equals:
            found.flags.add(name)
        else:
            raise ToolError(unknown.format(word))
    return found


def read_arguments(
    arguments: list[str], flags: Collection[str], values: Collection[str], usage: str
) -> tuple[list[str], set[str], dict[str, str]]:
    """The files, the flags and the options with their last values; for a request for help, prints it and returns no file.

    Raises ToolError as `scan` does, and with the usage line if there is no file.
    """
    found = scan(arguments, (*flags, "-h", "--help"), values)
    if found.flags & {"-h", "--help"}:
        sys.stdout.write(usage)
        return [], set(), {}
    if not found.files:
        raise ToolError(usage.splitlines()[0])
    return found.files, found.flags, {name: given[-1] for name, given in found.values.items()}
