"""The sub-command ``orias opt``: phases of the pipeline on functions in text form."""

import os
import sys
import time
from pathlib import Path
from typing import Final

from orias.cli.drive import write_output
from orias.cli.phase_text import documented_list, phase_list, phase_times
from orias.cli.toolerror import ToolError
from orias.diag import CompileError, Unsupported, VerifyError
from orias.knobs.knob_settings import KnobError, KnobSettings, Setting, changed, parse_setting
from orias.options import Options
from orias.ori.ir import Func
from orias.ori.text import OriSyntaxError, dump, parse_all
from orias.pipeline.find_phase import find_phase
from orias.pipeline.functions import FUNCTIONS
from orias.pipeline.phases import PHASES, Phase
from orias.pipeline.watch import verify_function

USAGE: Final = """\
usage: orias opt PHASE ... FILE.ori [-o OUT.ori] [options]

Runs phases on the functions of a file that --dump-before or --dump-after has written (or somebody by hand), in the order given,
and prints the functions as they are then.  FILE '-' is standard input.  Without PHASE the file is only read, verified and printed.

PHASE: a name (case does not count), or FIRST..LAST for what the optimisation level runs from one to the other; FIRST.. goes to the
end, ..LAST begins at the start.  A phase that is named runs whatever the level.

  -o OUT.ori              write the result there
  -O0, -O1, -O2, -O3      optimisation level (default 3)
  -c                      functions have sections of their own (as with -c and -g of a compile)
  --register-usage N      readiness to use more registers, 0 to 10 (default 5)
  -knob NAME=VALUE        set a knob; may be repeated (orias --list-knobs lists them)
  --serial-schedule       reorder nothing; every instruction waits for the one before it
  --check                 also check the results of allocation and scheduling
  --time-phases           print the time that each phase takes
  --list                  print the phases of the pipeline
  --documented            print all documented phases of ptxas, and what Orias has for each

The functions are verified before the first phase and after each.  Exit code: 0, or 255 for a text or a command line that is wrong,
and for a phase that fails.
"""
_ALLOCATION: Final = next(k for k, p in enumerate(PHASES) if p.key == "allocate")


class _Arguments:
    def __init__(self, arguments: list[str]) -> None:
        self.options: Options = Options(opt_level=3)
        self.out: str = ""
        self.knobs: list[Setting] = []
        words: list[str] = []
        rest = iter(arguments)
        for a in rest:
            if a in ("-O0", "-O1", "-O2", "-O3"):
                self.options.opt_level = int(a[2])
            elif a == "-c":
                self.options.compile_only = True
            elif a == "--serial-schedule":
                self.options.serial = True
            elif a == "--check":
                self.options.self_check = True
            elif a == "--time-phases":
                self.options.time_phases = True
            elif a in ("-o", "-knob", "--knob", "--register-usage"):
                value = next(rest, None)
                if value is None:
                    raise ToolError(f"argument expected after '{a}'")
                if a == "-o":
                    self.out = value
                elif a.endswith("knob"):
                    self.knobs.append(_knob(value))
                elif value.isdecimal() and int(value) <= 10:
                    self.options.register_usage = int(value)
                else:
                    raise ToolError(f"'{value}' is not a number from 0 to 10")
            elif a.startswith("-") and a != "-":
                raise ToolError(f"unknown option '{a}'")
            else:
                words.append(a)
        if not words:
            raise ToolError(USAGE.splitlines()[0])
        self.file: str = words[-1]
        self.phases: list[Phase] = [p for w in words[:-1] for p in _phases(w, self.options.opt_level)]


def _knob(text: str) -> Setting:
    try:
        return parse_setting(text)
    except KnobError as e:
        raise ToolError(str(e)) from None


def _phases(word: str, level: int) -> list[Phase]:
    """The phases that one argument selects."""
    try:
        first, dots, last = word.partition("..")
        if not dots:
            return [find_phase(word)]
        start = PHASES.index(find_phase(first)) if first else 0
        end = PHASES.index(find_phase(last)) if last else len(PHASES) - 1
    except CompileError as e:
        raise ToolError(str(e)) from None
    if end < start:
        raise ToolError(f"'{word}': {PHASES[start].name} runs after {PHASES[end].name}")
    return [p for p in PHASES[start : end + 1] if str(level) in p.levels]


def opt_command(arguments: list[str]) -> int:
    """Run the sub-command; returns the exit code.  Raises ToolError for wrong usage and bad input."""
    for option, text in (
        ("-h", USAGE),
        ("--help", USAGE),
        ("--list", phase_list()),
        ("--documented", documented_list()),
    ):
        if option in arguments:
            sys.stdout.write(text)
            return 0
    given = _Arguments(arguments)
    funcs = _read(given.file)
    times: dict[str, tuple[int, float]] = {}
    for fn in funcs:
        if given.knobs:
            fn.knobs = KnobSettings([*changed(fn.knobs), *given.knobs]).values(fn.name, [])
        _verify("as read", fn)
        for phase in given.phases:
            _run(phase, fn, given.options, times)
    text = "\n".join(dump(fn) for fn in funcs)
    if given.out:
        write_output(given.out, text.encode())
    else:
        sys.stdout.write(text)
    if given.options.time_phases:
        sys.stderr.write(phase_times([(name, n, seconds) for name, (n, seconds) in times.items()]))
    return 0


def _read(file: str) -> list[Func]:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    name = "standard input" if file == "-" else file
    try:
        return parse_all(data.decode("utf-8"))
    except OriSyntaxError as e:
        raise ToolError(f"{name}, {e}") from None
    except UnicodeDecodeError as e:
        line = data[: e.start].count(10) + 1
        raise ToolError(f"{name}, line {line}: not UTF-8 text") from None


def _run(phase: Phase, fn: Func, options: Options, times: dict[str, tuple[int, float]]) -> None:
    _expect_state(phase, fn)
    start = time.perf_counter()
    try:
        FUNCTIONS[phase.key](fn, options)
    except (VerifyError, Unsupported, CompileError) as e:
        raise ToolError(f"phase {phase.name} of function {fn.name}: {e}") from None
    except (Exception, RecursionError) as e:
        if os.environ.get("ORIAS_TRACEBACK"):
            raise
        raise ToolError(f"phase {phase.name} of function {fn.name} failed: {type(e).__name__}: {e}") from None
    count, seconds = times.get(phase.name, (0, 0.0))
    times[phase.name] = count + 1, seconds + time.perf_counter() - start
    _verify(f"after phase {phase.name}", fn)


def _verify(when: str, fn: Func) -> None:
    try:
        verify_function(when, fn)
    except VerifyError as e:
        raise ToolError(str(e)) from None


def _expect_state(phase: Phase, fn: Func) -> None:
    """Raise ToolError if the function's state is too early or too late for a phase."""
    at = PHASES.index(phase)
    states = ("ssa",) if at < _ALLOCATION else ("ssa", "virtual") if at == _ALLOCATION else ("allocated",)
    if phase.key != "verify" and fn.state not in states:
        raise ToolError(f"phase {phase.name} takes functions in state {states[0]}; {fn.name} is in state {fn.state}")
