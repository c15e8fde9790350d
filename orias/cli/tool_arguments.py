"""Reads the arguments of a sub-command."""

import sys
from collections.abc import Collection

from orias.cli.toolerror import ToolError


def read_arguments(
    arguments: list[str], flags: Collection[str], values: Collection[str], usage: str
) -> tuple[list[str], set[str], dict[str, str]]:
    """The files, the flags and the options with values; for a request for help, prints it and returns no file.

    `flags` and `values`: the legal options.  Raises ToolError for others, for a missing value, and with the usage line
    if there is no file.
    """
    files: list[str] = []
    found: set[str] = set()
    given: dict[str, str] = {}
    rest = iter(arguments)
    for a in rest:
        if a in ("-h", "--help"):
            sys.stdout.write(usage)
            return [], set(), {}
        if a in values:
            value = next(rest, None)
            if value is None:
                raise ToolError(f"argument expected after '{a}'")
            given[a] = value
        elif a in flags:
            found.add(a)
        elif a.startswith("-"):
            raise ToolError(f"unknown option '{a}'")
        else:
            files.append(a)
    if not files:
        raise ToolError(usage.splitlines()[0])
    return files, found, given
