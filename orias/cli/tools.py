"""Sub-commands: ``orias dis``, ``as``, ``run``, ``perf``, ``tune``, ``explore``, ``reference``, ``check``, ``audit``, ``verify``, ``bisect``, ``reduce``, ``fuzz``,
``opt``, ``exec``, ``serve``, ``toolkit``, ``completion``, ``batch``.

To compile an input file with such a name, write it as ``./dis``.  Only a program named ``orias`` has sub-commands.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from orias.cli.door import failure_text
from orias.cli.drive import write_output
from orias.cli.tool_arguments import read_arguments
from orias.cli.toolerror import ToolError

FAILURE = 255
AS_USAGE = """\
usage: orias as FILE.sass [-o OUT.cubin] [--base OLD.cubin | [--arch sm_NN] [--regs N] [--params 8,4,...]]

Assembles a listing.  A listing of orias dis --full holds everything: the cubin of an unchanged one is the same
bytes; sizes, addresses, registers and attributes follow an edit.  For a listing of orias dis --control:
--base: everything but the code comes from that cubin.  Without it the cubin holds the kernels of the listing:
registers and target as the listing says unless given, parameters of the given sizes.
"""


def run_tool(program: str, tool: str, arguments: list[str], run: Callable[[list[str]], int]) -> int:
    """Run a sub-command; returns the exit code.  `run`: runs a whole command line, for those that others send to a server."""
    try:
        if tool == "dis":
            return _dis(arguments)
        if tool == "as":
            return _as(arguments)
        if tool == "check":
            return _check(program, arguments)
        if tool == "perf":
            from orias.cli.perf_command import perf_command

            return perf_command(arguments)
        if tool == "tune":
            return _tune(arguments)
        if tool == "explore":
            from orias.cli.explore_command import explore_command

            return explore_command(arguments)
        if tool == "reference":
            from orias.cli.reference_command import reference_command

            return reference_command(arguments)
        if tool == "audit":
            return _audit(arguments)
        if tool in ("verify", "bisect", "reduce"):
            return _validate(tool, arguments)
        if tool == "fuzz":
            return _fuzz(arguments)
        if tool == "opt":
            return _opt(arguments)
        if tool == "exec":
            from orias.cli.exec_command import exec_command

            return exec_command(arguments)
        if tool == "toolkit":
            from orias.cli.toolkit_command import toolkit_command

            return toolkit_command(arguments)
        if tool == "completion":
            from orias.cli.completion_command import completion_command

            return completion_command(arguments)
        if tool == "batch":
            from orias.cli.batch_command import batch_command

            return batch_command(arguments)
        if tool == "serve":
            from orias.cli.serve_command import run_serve

            return run_serve(arguments, run)
        return _run(arguments)
    except ToolError as e:
        message = str(e)
    except BrokenPipeError:
        return 0
    except OSError as e:
        message = f"{e.filename}: {e.strerror}"
    except Exception as e:
        message = failure_text(e)
    sys.stderr.write(f"{program} {tool}: {message}\n")
    return FAILURE


def _dis(arguments: list[str]) -> int:
    from orias.cli.dis import run_dis

    return run_dis(arguments)


def _as(arguments: list[str]) -> int:
    files, _, given = read_arguments(arguments, (), ("-o", "--base", "--arch", "--regs", "--params"), AS_USAGE)
    if not files:
        return 0
    if len(files) > 1:
        raise ToolError(AS_USAGE.splitlines()[0])
    from orias.cubin.cubin_error import CubinError
    from orias.isa.decode import IllegalWord
    from orias.tools.assemble import AsmError
    from orias.tools.fullread import build
    from orias.tools.fullwrite import FULL_MARK
    from orias.tools.patch import new_cubin, patched_cubin

    text = Path(files[0]).read_text(encoding="utf-8")
    try:
        if text.startswith(FULL_MARK):
            if given.keys() - {"-o"}:
                raise ToolError("a full listing takes no option but -o")
            data = build(text)
        elif "--base" in given:
            data = patched_cubin(text, Path(given["--base"]).read_bytes())
        else:
            sizes = [int(v, 0) for v in given.get("--params", "").split(",") if v]
            data = new_cubin(text, given.get("--arch", ""), int(given.get("--regs", "0"), 0), sizes)
    except (AsmError, CubinError, IllegalWord, ValueError) as e:
        raise ToolError(f"{files[0]}: {e}") from None
    write_output(given.get("-o", "out.cubin"), data)
    return 0


def _check(program: str, arguments: list[str]) -> int:
    from orias.cli.check_command import check_command

    return check_command(program, arguments)


def _opt(arguments: list[str]) -> int:
    from orias.cli.opt_command import opt_command

    return opt_command(arguments)


def _audit(arguments: list[str]) -> int:
    try:
        from orias.cli.audit_command import audit_command
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None
    return audit_command(arguments)


def _validate(tool: str, arguments: list[str]) -> int:
    try:
        from orias.cli.validate_command import run_command
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None
    return run_command(tool, arguments)


def _tune(arguments: list[str]) -> int:
    try:
        from orias.cli.tune_command import tune_command
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None
    return tune_command(arguments)


def _run(arguments: list[str]) -> int:
    try:
        from orias.cli.run_command import run_command
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None
    return run_command(arguments)


def _fuzz(arguments: list[str]) -> int:
    try:
        from orias.spread import NoCluster
        from orias.tools.fuzz.campaign import main
    except ImportError as e:
        raise ToolError(f"the simulator needs numpy (pip install 'orias[sim]'): {e}") from None
    try:
        return main(arguments)
    except ValueError as e:
        raise ToolError(f"{e} (orias fuzz --help lists the options)") from None
    except NoCluster as e:
        raise ToolError(str(e)) from None
