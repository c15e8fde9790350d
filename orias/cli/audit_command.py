"""``orias audit``: did a compiler break this kernel?"""

import json
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from orias.cli.launch_values import UsageError, arguments, dims
from orias.cli.toolerror import ToolError
from orias.diag import CompileError
from orias.progress import Bar
from orias.target.own_target import own_target
from orias.tools.audit.audit_kernel import DIFFERENT, NOT_COMPARED, Auditor, Verdict
from orias.tools.audit.audit_report import report
from orias.tools.audit.audit_subject import Subject, subjects
from orias.tools.audit.compilers import Compiler, on_path
from orias.tools.audit.shrink import confirmed, smaller_launch, smaller_ptx
from orias.tools.validate.case import (
    MOST_BYTES,
    MOST_SHARED,
    MOST_STEPS,
    Case,
    Region,
    cases_of,
    from_json,
    number,
    shape_of,
)

USAGE: Final = """\
usage: orias audit FILE.ptx [FILE.cubin...] [--with COMPILER]... [--options "OPTIONS"] [--arch sm_NN] [--kernel NAME]
                   [--case FILE.json] [--shared BYTES] [--turns N] [--reduce OUT.ptx] [--seconds N] [--json] [--quiet]
       orias audit FOLDER... [the same options]

Runs the PTX and each cubin on the same launches, twice (registers start as a pattern, and as zero), and compares what they
leave in memory.  Code in which threads meet runs by other schedules too, and asynchronous operations so that they read late.
A difference is reported with the place, both values, the PTX line, the storing instruction, the
instruction that made the wrong value where it can be found, and the known fault of the compiler that fits.

FOLDER: an entry of Triton's cache, or a folder with many (the .ptx, .cubin and .json of a kernel).
--with: compile the PTX with this compiler and audit the result: a path, `ptxas` (every one on PATH), or `orias`;
--options are those of the compiler ("-O3" unless given).  --arch: the target (that of the PTX).
--case: launches: those of orias verify, or {"kernel", "grid", "block", "shared", "args"} with arguments as for orias run.
Without it launches are chosen from the kernel: --turns of them (3), with --shared bytes of dynamic shared memory (the least
with which the PTX runs).
--reduce: with --with, the smallest PTX found that still goes wrong, within --seconds (60); the best one so far is always
in the file.

Exit code: 0 if everything was compared and is equal, 1 for a difference, 2 if something was not compared, 255 for wrong
usage or input.
"""
FOUND: Final = 1
SKIPPED: Final = 2
FAILURE: Final = 255
_FLAGS: Final = ("--json", "--quiet")
_VALUES: Final = (
    "--with", "--options", "--arch", "--kernel", "--case", "--shared", "--turns", "--reduce", "--seconds",
)  # fmt: skip


class _Arguments:
    """Parsed options."""

    def __init__(self, words: list[str]) -> None:
        self.files: list[str] = []
        self.flags: set[str] = set()
        self.given: dict[str, list[str]] = {}
        rest = iter(words)
        for w in rest:
            if w in _VALUES:
                value = next(rest, None)
                if value is None:
                    raise ToolError(f"argument expected after '{w}'")
                self.given.setdefault(w, []).append(value)
            elif w in _FLAGS:
                self.flags.add(w)
            elif w.startswith("-"):
                raise ToolError(f"unknown option '{w}'")
            else:
                self.files.append(w)
        if not self.files:
            raise ToolError(USAGE.splitlines()[0])
        for name in ("--shared", "--turns", "--seconds"):
            self.number(name, 0)

    def text(self, name: str, default: str = "") -> str:
        """The last value of an option."""
        return self.given.get(name, [default])[-1]

    def number(self, name: str, default: int) -> int:
        """The last value of an option, at least 0."""
        value = self.text(name, str(default))
        if not value.isdigit():
            raise ToolError(f"{name}: '{value}' is not a number")
        return int(value)


def audit_command(words: list[str]) -> int:
    """Run ``orias audit`` with the arguments after ``audit``; returns the exit code."""
    if {"-h", "--help"} & set(words):
        sys.stdout.write(USAGE)
        return 0
    given = _Arguments(words)
    try:
        found = subjects(given.files)
        compilers = _compilers(given)
        cases = cases_of(given.text("--case"), _launch) if given.text("--case") else None
    except (ValueError, UsageError) as e:
        raise ToolError(str(e)) from None
    verdicts: list[Verdict] = []
    refused: list[str] = []
    bar = Bar("--quiet" in given.flags or "--json" in given.flags)
    for k, subject in enumerate(found):
        bar(k, len(found), subject.name)
        verdicts.extend(_audit(subject, compilers, cases, given, refused))
    bar.clear()
    if "--json" in given.flags:
        out = {"verdicts": [v.record() for v in verdicts], "refused": refused}
        sys.stdout.write(json.dumps(out, indent=1) + "\n")
    else:
        for v in verdicts:
            sys.stdout.write(report(v))
        for r in refused:
            sys.stdout.write(f"not compared: {r}\n")
    if any(v.outcome == DIFFERENT for v in verdicts):
        return FOUND
    if refused or not verdicts or any(v.outcome == NOT_COMPARED for v in verdicts):
        return SKIPPED
    return 0


def _compilers(given: _Arguments) -> list[Compiler]:
    options = given.text("--options", "-O3").split()
    names: list[str] = []
    for name in given.given.get("--with", []):
        names.extend((on_path(name) or [name]) if name == "ptxas" else [name])
    return [Compiler(n, options) for n in names]


def _audit(
    subject: Subject, compilers: list[Compiler], cases: list[Case] | None, given: _Arguments, refused: list[str]
) -> list[Verdict]:
    """The verdicts on all kernels of all cubins of a subject."""
    arch = given.text("--arch") or own_target(subject.ptx)
    made: dict[int, Compiler] = {}
    for compiler in compilers:
        cubin = compiler.compile(subject.ptx, arch)
        if isinstance(cubin, str):
            subject.refused.append(f"{compiler.label()}: {cubin}")
            continue
        before = len(subject.binaries)
        subject.add(compiler.label(), cubin, compiler.release)
        if len(subject.binaries) > before:
            made[before] = compiler
    refused.extend(subject.refused)
    if not subject.binaries:
        if not subject.refused:
            refused.append(f"{subject.name}: there is no cubin to audit (a file, or --with COMPILER)")
        return []
    shared = given.number("--shared", 0) if "--shared" in given.given else subject.shared
    try:
        auditor = Auditor(subject.ptx, shared, given.number("--turns", 3), cases)
    except CompileError as e:
        refused.append(f"{subject.name}, line {e.diagnostics[0].line}: {e.diagnostics[0].message}")
        return []
    out: list[Verdict] = []
    for kernel in auditor.kernels():
        if given.text("--kernel", kernel.name) != kernel.name:
            continue
        for k, binary in enumerate(subject.binaries):
            v = auditor.audit(kernel, binary)
            if v.difference is not None:
                _shrink(subject, v, made.get(k), given)
            out.append(v)
    return out


def _shrink(subject: Subject, v: Verdict, compiler: Compiler | None, given: _Arguments) -> None:
    """Reduces the launch, and with a compiler names the fault and reduces the PTX, within the time allowed."""
    assert v.difference is not None
    until = time.monotonic() + given.number("--seconds", 60)
    v.difference.case = smaller_launch(subject.ptx, v, until)
    if compiler is None:
        return
    v.confirmed = confirmed(subject.ptx, v, compiler, until)
    path = given.text("--reduce")
    if path:
        v.reduced = path
        smaller_ptx(subject.ptx, v, compiler, until, lambda text: _write(path, text))


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="latin-1")


def _launch(d: dict[str, Any]) -> Case:
    """A launch; its arguments may have the notation of ``orias run``."""
    if "args" not in d:
        return from_json(d)
    case = Case(str(d["kernel"]))
    sizes = {name: d.get(name, 1) for name in ("grid", "block")}
    case.grid, case.block = shape_of({n: x if isinstance(x, list) else list(dims(str(x))) for n, x in sizes.items()})
    case.shared = number(d, "shared", 0, MOST_SHARED)
    case.max_steps = number(d, "max_steps", 1_000_000, MOST_STEPS)
    total = 0
    for k, value in enumerate(arguments([str(a) for a in d["args"]], MOST_BYTES)):
        if isinstance(value, np.ndarray):
            data = value.tobytes()
            total += len(data)
            if total > MOST_BYTES:
                raise ValueError(f"the buffers of a launch have at most {MOST_BYTES} bytes")
            case.pointers[k, 0] = Region(len(data), "", 0, 0, data)
            case.params.append(bytearray(8))
        else:
            case.params.append(bytearray(value if isinstance(value, bytes) else value.tobytes()))
    return case
