"""The entry point of the command line: parses options, and loads the compiler only if there is input.

Messages go to standard error, after the program's name; the exit code is 0, or 255 for every failure.
"""

import os
import sys

from orias.cli.parse import Command, parse_arguments
from orias.cli.program_names import TOOLS, program_name

FAILURE = 255


def _choose_release(program: str, command: Command) -> str:
    """Set the release to stand for: the option, under the name ptxas the environment, else the newest; returns a message if it is wrong."""
    from orias.target.target_names import NEWEST_RELEASE, RELEASES

    said = os.environ.get("ORIAS_PTXAS_RELEASE", "") if program == "ptxas" else ""
    release = command.values.setdefault("orias-release", said or NEWEST_RELEASE)
    return "" if release in RELEASES else f"Value '{release}' is not defined for option 'orias-release'"


def run(argv: list[str]) -> int:
    """Run one command line (``argv[0]`` is the program) and return its exit code."""
    program = program_name(argv[0])
    arguments = argv[1:]
    if program in ("nvdisasm", "cuobjdump"):
        from orias.cli.toolkit_names import run_named

        return run_named(program, arguments)
    if arguments and arguments[0] in TOOLS and program == "orias":
        from orias.cli.drive import collect_seldom
        from orias.cli.tools import run_tool

        collect_seldom()
        return run_tool(program, arguments[0], arguments[1:], run)
    if arguments and program == "orias" and arguments[0].isalpha() and not os.path.exists(arguments[0]):
        sys.stderr.write(f"{program} fatal   : {_no_tool(arguments[0])}\n")
        return FAILURE
    command, message = parse_arguments(arguments, program == "orias")
    for warning in command.warnings:
        sys.stderr.write(f"{program} warning : {warning}\n")
    message = message or _choose_release(program, command)
    if message:
        if program == "orias" and message.startswith("Unknown option '"):
            message += _near_option(message)
        sys.stderr.write(f"{program} fatal   : {message}\n")
        return FAILURE
    if command.has("list-knobs"):
        return _list_knobs(command.values["list-knobs"])
    if command.has("help") or command.has("version") or command.has("list-version") or not command.inputs:
        from orias.cli import help_text

        if command.has("version") and not command.has("help"):
            from orias.identity import identity
            from orias.version import VERSION

            name = command.values.get("tool-name") or program
            sys.stdout.write(help_text.version_text(name, VERSION, identity(), command.values["orias-release"]))
        elif command.has("list-version") and not command.has("help"):
            sys.stdout.write(help_text.list_versions(command.values["orias-release"]))
        else:
            if not command.has("help"):
                if command.values.get("query-controls"):
                    return _write_controls(program, command.values["query-controls"])
                from orias.cli.hidden_settings import unmet

                sys.stderr.write("".join(f"{program} warning : {text}\n" for text in unmet(command)))
            sys.stdout.write(help_text.help_text(program))
        return 0
    from orias.cli.drive import drive

    return drive(program, command)


def _write_controls(program: str, file: str) -> int:
    """Write the file of --query-controls, which needs no input."""
    from orias.cli.hidden_files import write_controls
    from orias.cli.parse import UsageError

    try:
        write_controls(file)
    except UsageError as e:
        sys.stderr.write(f"{program} fatal   : {e}\n")
        return FAILURE
    return 0


def _no_tool(word: str) -> str:
    """The message for a first argument that is neither a file nor a sub-command."""
    from difflib import get_close_matches

    near = get_close_matches(word, TOOLS, 1)
    meant = f"; did you mean '{near[0]}'?" if near else "."
    return f"'{word}' is neither a file nor a sub-command{meant} Sub-commands: {', '.join(TOOLS)}"


def _near_option(message: str) -> str:
    """The end of the message for an unknown option: the option that may be meant."""
    from difflib import get_close_matches

    from orias.cli.option_table import OPTIONS, OWN

    names = [row[0] for row in OPTIONS] + [row[0] for row in OWN] + [row[1] for row in OPTIONS if len(row[1]) > 1]
    near = get_close_matches(message.split("'")[1].lstrip("-"), names, 1)
    return f"; did you mean '--{near[0]}'?" if near else "; 'orias --help' lists the options"


def _list_knobs(form: str) -> int:
    """Print the knobs, as text or JSON."""
    from orias.knobs.knob_settings import knob_list, knob_objects

    if form not in ("", "json"):
        sys.stderr.write(f"orias fatal   : Value '{form}' is not defined for option 'list-knobs'\n")
        return FAILURE
    if form:
        import json

        sys.stdout.write(json.dumps(knob_objects(), indent=1) + "\n")
    else:
        sys.stdout.write(knob_list())
    return 0
