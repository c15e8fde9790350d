"""Sub-commands: ``orias dis``, ``orias as``, ``orias run``.

An input file with such a name is compiled by writing it as ``./dis``; under any other program name than ``orias`` there are no
sub-commands.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from orias.cli.drive import write_output

FAILURE = 255


class ToolError(Exception):
    """Wrong use of a sub-command; the text is the message."""


def run_tool(program: str, tool: str, arguments: list[str]) -> int:
    """Run a sub-command; returns the exit code."""
    try:
        if tool == "dis":
            return _dis(arguments)
        if tool == "as":
            return _as(arguments)
        return _run(arguments)
    except ToolError as e:
        message = str(e)
    except OSError as e:
        message = f"{e.filename}: {e.strerror}"
    except BrokenPipeError:
        return 0
    sys.stderr.write(f"{program} {tool}: {message}\n")
    return FAILURE


def _dis(arguments: list[str]) -> int:
    import orias
    from orias.cubin.errors import CubinError

    files = [a for a in arguments if not a.startswith("-")]
    if len(files) != len(arguments) or not files:
        raise ToolError("usage: orias dis FILE.cubin...")
    for name in files:
        try:
            sys.stdout.write(orias.disassemble(Path(name).read_bytes()))
        except (CubinError, ValueError) as e:
            raise ToolError(f"{name}: {e}") from None
    return 0


def _as(arguments: list[str]) -> int:
    files: list[str] = []
    output = "out.cubin"
    i = 0
    while i < len(arguments):
        if arguments[i] == "-o" and i + 1 < len(arguments):
            output = arguments[i + 1]
            i += 1
        elif arguments[i].startswith("-"):
            raise ToolError("usage: orias as FILE.sass -o FILE.cubin")
        else:
            files.append(arguments[i])
        i += 1
    if len(files) != 1:
        raise ToolError("usage: orias as FILE.sass -o FILE.cubin")
    assemble: Any = import_module("orias.tools.assemble").assemble
    try:
        data: bytes = assemble(Path(files[0]).read_text())
    except ValueError as e:
        raise ToolError(f"{files[0]}: {e}") from None
    write_output(output, data)
    return 0


def _run(arguments: list[str]) -> int:
    try:
        from orias.sim.command import run_command
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None
    return run_command(arguments)
