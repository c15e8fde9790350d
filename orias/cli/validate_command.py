"""The sub-commands ``orias verify``, ``orias bisect`` and ``orias reduce``."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from orias.diag import CompileError
from orias.options import Options
from orias.progress import Bar
from orias.sim.core.sim_errors import SimError
from orias.target.own_target import own_target
from orias.tools.validate.bisect import bisect
from orias.tools.validate.case import Case, cases_of, from_json
from orias.tools.validate.reduce import Reducer, command_test, verify_test
from orias.tools.validate.verify_compile import Report, verify

USAGE: Final = """\
usage: orias verify FILE.ptx [--arch sm_NN] [-O0..-O3] [--fmad true|false] [--turns N] [--case FILE.json] [--final] [--json] [--quiet]
       orias bisect FILE.ptx [the same options]
       orias reduce FILE.ptx -o OUT.ptx [--arch sm_NN] [-O0..-O3] [--command "COMMAND {}"] [--json] [--quiet]

verify: runs the PTX, Ori after every phase that changed something, and the final SASS (--final: that alone) on generated
inputs (--turns, 3 unless told) or those of a case file, and compares all memory.  Multiplications and additions are not fused
unless --fmad is true.  Exit code: 0 if all was compared and nothing differs, 1 for a difference, 2 if a kernel
was not compared, 255 for a file that does not compile.
bisect: the first phase that changes the meaning, and within it the first rewrite.
reduce: shrinks a file that fails: for which COMMAND (with the file for {}) ends with code 0, or verify finds a difference.
"""


class Arguments:
    """Parsed options."""

    def __init__(self, arguments: list[str]) -> None:
        self.file = ""
        self.out = ""
        self.arch = ""
        self.level = 3
        self.fmad = False
        self.turns = 3
        self.cases: list[Case] | None = None
        self.final = False
        self.json = False
        self.quiet = False
        self.command = ""
        rest = list(arguments)
        while rest:
            a = rest.pop(0)
            if a == "--json":
                self.json = True
            elif a == "--quiet":
                self.quiet = True
            elif a == "--final":
                self.final = True
            elif a in ("-O0", "-O1", "-O2", "-O3"):
                self.level = int(a[2])
            elif a in ("--arch", "-arch", "--fmad", "--turns", "--case", "--command", "-o"):
                if not rest:
                    raise ValueError(f"argument expected after '{a}'")
                self._value(a, rest.pop(0))
            elif a.startswith("-") or self.file:
                raise ValueError(f"unknown option '{a}'")
            else:
                self.file = a
        if not self.file:
            raise ValueError("no file given")

    def _value(self, name: str, value: str) -> None:
        if name in ("--arch", "-arch"):
            self.arch = value
        elif name == "--fmad":
            self.fmad = value == "true"
        elif name == "--turns":
            self.turns = int(value)
        elif name == "--case":
            self.cases = cases_of(value, from_json)
        elif name == "--command":
            self.command = value
        else:
            self.out = value

    def options(self) -> Options:
        """The compiler's options."""
        o = Options(self.arch, self.level)
        o.fmad = self.fmad
        return o


def run_command(tool: str, arguments: list[str]) -> int:
    """Run a sub-command; returns the exit code."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(USAGE)
        return 0
    try:
        given = Arguments(arguments)
        text = Path(given.file).read_text(encoding="latin-1")
        given.arch = given.arch or own_target(text)
        if tool == "reduce":
            return _reduce(given, text)
        if tool == "bisect":
            return _bisect(given, text)
        report = verify(
            text, given.options(), given.turns, not given.final, given.cases, Bar(given.quiet or given.json)
        )
        return _report(report, given)
    except CompileError as e:
        for d in e.diagnostics:
            sys.stderr.write(f"{given.file}, line {d.line}; {d.severity}: {d.message}\n")
        return 255
    except OSError as e:
        sys.stderr.write(f"orias {tool}: {e.filename}: {e.strerror}\n")
        return 255
    except (ValueError, KeyError, TypeError, AttributeError, SimError) as e:
        sys.stderr.write(f"orias {tool}: {e}\n")
        return 255


def _report(report: Report, given: Arguments) -> int:
    if given.json:
        out: dict[str, Any] = {
            "cases": report.cases, "open": report.open, "runs": report.runs, "skipped": report.skipped, "findings": [f.json() for f in report.findings],
        }  # fmt: skip
        sys.stdout.write(json.dumps(out, indent=1) + "\n")
    else:
        for f in report.findings:
            sys.stdout.write(f.text() + "\n")
        for s in report.skipped:
            sys.stdout.write(f"not compared: {s}\n")
        sys.stdout.write(
            f"{report.cases} cases, {report.runs} runs, {len(report.findings)} differences, {len(report.skipped)} not compared\n"
        )
    if report.findings:
        return 1
    return 2 if report.uncompared else 0


def _bisect(given: Arguments, text: str) -> int:
    found = bisect(text, given.options(), given.turns, given.cases, Bar(given.quiet or given.json))
    if given.json:
        sys.stdout.write(json.dumps([f.json() for f in found], indent=1) + "\n")
    else:
        for f in found:
            sys.stdout.write(f.text() + "\n")
        if not found:
            sys.stdout.write("no difference\n")
    return 1 if found else 0


def _reduce(given: Arguments, text: str) -> int:
    if not given.out:
        raise ValueError("-o OUT.ptx is missing")
    test = command_test(given.command) if given.command else verify_test(given.options(), given.turns)
    reducer = Reducer(test, Bar(given.quiet or given.json))
    small = reducer.run(text)
    Path(given.out).write_text(small, encoding="latin-1")
    if given.json:
        before, after = len(text.splitlines()), len(small.splitlines())
        sys.stdout.write(json.dumps({"before": before, "after": after, "tests": reducer.tests}) + "\n")
    else:
        sys.stdout.write(
            f"{len(text.splitlines())} lines to {len(small.splitlines())}, {reducer.tests} tests: {given.out}\n"
        )
    return 0
