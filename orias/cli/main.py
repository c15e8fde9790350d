"""The entry point of the command line: parses options, and loads the compiler only if there is input.

Messages go to standard error, after the program's name; the exit code is 0, or 255 for every failure.
"""

import sys

from orias.cli.parse import parse_arguments

FAILURE = 255
_TOOLS = ("dis", "as", "run", "perf", "check", "audit", "verify", "bisect", "reduce", "fuzz", "opt", "exec")


def program_name(path: str) -> str:
    """The name at the start of messages: the base name of the program, ``orias`` for ``python -m orias``."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return "orias" if name in ("__main__.py", "", "-c") else name.removesuffix(".exe")


def run(argv: list[str]) -> int:
    """Run one command line (``argv[0]`` is the program) and return its exit code."""
    program = program_name(argv[0])
    arguments = argv[1:]
    if arguments and arguments[0] in _TOOLS and program == "orias":
        from orias.cli.drive import collect_seldom
        from orias.cli.tools import run_tool

        collect_seldom()
        return run_tool(program, arguments[0], arguments[1:])
    command, message = parse_arguments(arguments)
    for warning in command.warnings:
        sys.stderr.write(f"{program} warning : {warning}\n")
    if message:
        sys.stderr.write(f"{program} fatal   : {message}\n")
        return FAILURE
    if command.has("help") or command.has("version") or command.has("list-version") or not command.inputs:
        from orias.cli import help_text

        if command.has("version") and not command.has("help"):
            from orias.identity import identity
            from orias.version import VERSION

            sys.stdout.write(help_text.version_text(program, VERSION, identity()))
        elif command.has("list-version") and not command.has("help"):
            sys.stdout.write(help_text.list_versions())
        else:
            sys.stdout.write(help_text.help_text(program))
        return 0
    from orias.cli.drive import drive

    return drive(program, command)
