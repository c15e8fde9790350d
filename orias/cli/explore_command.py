"""``orias explore``: a page that shows how PTX becomes SASS."""

import sys
from pathlib import Path
from typing import Final

from orias.cli.drive import write_output
from orias.cli.parse import UsageError, parse_arguments
from orias.cli.settings import settings
from orias.cli.toolerror import ToolError
from orias.cubin.cubin_error import CubinError
from orias.diag import CompileError, Unsupported
from orias.explore.exploration import Exploration, explore
from orias.explore.exploration_text import exploration_text
from orias.explore.page_writer import NeedsJinja
from orias.explore.recorded_run import Launch, LaunchFailed
from orias.target.own_target import own_target

USAGE: Final = """\
usage: orias explore FILE [OTHER] [-o PAGE.html] [--json | --text] [launch] [compile options] [--and compile options of OTHER]

Shows how a PTX text becomes SASS and why: PTX, the function after every phase, and SASS side by side, with registers, schedule,
waits, occupancy, memory accesses, the control-flow graph and what the passes decided.  A finished cubin, of any compiler, is shown
without PTX and phases.  With a second file both are compared.

  -o PAGE.html      the page, one file that loads nothing from a network (default: FILE with the suffix .html)
  --json            print the data, and write no page unless -o is given
  --text            print the advice and what the passes decided, and write no page unless -o is given
  --and OPTIONS...  compile options of the second compile alone; with one FILE, it is compiled twice

A launch runs the kernel in the simulator (needs numpy), so that accesses show what their addresses really cost:

  --grid X[,Y,Z] --block X[,Y,Z] [--kernel NAME] [--shared BYTES] [--arg ARG]...    as for orias run

Compile options are those of orias: -arch=sm_90 -O1 -maxrregcount=64 ...  Without -arch, it is the .target of the PTX.
The page needs Jinja2 (pip install 'orias[explore]').  Exit code: 0, or 255 for a file or a command line that is wrong.
"""


_VALUES: Final = ("-o", "--grid", "--block", "--kernel", "--shared", "--arg")
_FLAGS: Final = ("--json", "--text")


def explore_command(arguments: list[str]) -> int:
    """Run ``orias explore`` with the arguments after ``explore``; returns the exit code."""
    if not arguments or "-h" in arguments or "--help" in arguments:
        sys.stdout.write(USAGE)
        return 0
    own, rest = _own(arguments)
    at = rest.index("--and") if "--and" in rest else len(rest)
    mine, other = rest[:at], rest[at + 1 :]
    files, options = _split(mine)
    if not 1 <= len(files) <= 2:
        raise ToolError(USAGE.splitlines()[0])
    both = [(files[0], options)]
    if len(files) == 2 or at < len(rest):
        both.append((files[-1], [*options, *other]))
    titles = _titles([f for f, _ in both], [[], other])
    launch = _launch(own)
    found = [_explore(name, given, title, launch) for (name, given), title in zip(both, titles, strict=True)]
    out = found[0] if len(found) == 1 else found[0].compare(found[1])
    if "--json" in own:
        sys.stdout.write(out.json() + "\n")
    elif "--text" in own:
        sys.stdout.write("".join(exploration_text(doc) for doc in out.docs))
    if "-o" in own or not {"--json", "--text"} & set(own):
        target = own["-o"][-1] if "-o" in own else str(Path(files[0]).with_suffix(".html").name)
        try:
            write_output(target, out.html().encode())
        except NeedsJinja as e:
            raise ToolError(str(e)) from None
        if not {"--json", "--text"} & set(own):
            sys.stdout.write(f"{target}\n")
    return 0


def _own(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The options of this command with their values, and the other arguments."""
    own: dict[str, list[str]] = {}
    out: list[str] = []
    rest = iter(arguments)
    for a in rest:
        name, equals, value = a.partition("=")
        if name in _VALUES:
            given = value if equals else next(rest, "")
            if not given:
                raise ToolError(f"argument expected after '{name}'")
            own.setdefault(name, []).append(given)
        elif a in _FLAGS:
            own[a] = []
        else:
            out.append(a)
    return own, out


def _launch(own: dict[str, list[str]]) -> Launch | None:
    """The launch that the options ask for."""
    if not set(own) & {"--grid", "--block", "--kernel", "--shared", "--arg"}:
        return None
    if "--block" not in own:
        raise ToolError("a launch needs --block")
    try:
        from orias.cli.launch_values import UsageError as WrongValue
        from orias.cli.launch_values import arguments, dims, integer
    except ImportError:
        raise ToolError("a launch needs numpy (pip install 'orias[sim]')") from None
    try:
        grid, block = dims(own.get("--grid", ["1"])[-1]), dims(own["--block"][-1])
        args = arguments(own.get("--arg", []))
        shared = integer(own.get("--shared", ["0"])[-1], "--shared")
    except WrongValue as e:
        raise ToolError(str(e)) from None
    return Launch(grid, block, args, own.get("--kernel", [""])[-1], shared)


def _split(given: list[str]) -> tuple[list[str], list[str]]:
    """Files, and the compile options as they were given."""
    command, message = parse_arguments(given)
    if message:
        raise ToolError(message)
    files = [text for kind, text in command.inputs if kind == "file"]
    names = set(files)
    return files, [a for a in given if a not in names]


def _titles(files: list[str], more: list[list[str]]) -> list[str]:
    names = [Path(f).name for f in files]
    if len(names) == 2 and names[0] == names[1]:
        first = files[0] if files[0] != files[1] else names[0]
        second = files[1] if files[0] != files[1] else f"{names[1]} {' '.join(more[1])}"
        return [first, second]
    return names


def _explore(name: str, given: list[str], title: str, launch: Launch | None) -> Exploration:
    data = Path(name).read_bytes()
    command, message = parse_arguments(given)
    if message:
        raise ToolError(message)
    if "gpu-name" not in command.values:
        command.values["gpu-name"] = own_target(data)
    try:
        s = settings(command)
    except UsageError as e:
        raise ToolError(str(e)) from None
    fatal = [text for severity, text in s.messages if severity in ("error", "fatal")]
    if fatal or s.parse_only:
        raise ToolError(fatal[0] if fatal else f"{s.parse_only} has no machine code to show")
    try:
        return explore(name, data, s.options, title, launch)
    except CompileError as e:
        errors = [d for d in e.diagnostics if d.severity in ("error", "fatal")]
        lines = [f"{name}, line {d.line}: {d.message}" if d.line else f"{name}: {d.message}" for d in errors[:5]]
        raise ToolError("\n".join(lines) or f"{name}: it cannot be compiled") from None
    except KeyError as e:
        raise ToolError(f"{name}: there is no instruction table for {e.args[0]}") from None
    except (CubinError, Unsupported, LaunchFailed) as e:
        raise ToolError(f"{name}: {e}") from None
