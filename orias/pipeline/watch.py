"""Observes functions between phases: dumps, times, the verifier, decisions, and a caller's trace.

Most compiles use none of these, so their modules are imported on first use.
"""

import sys
import time
from typing import Final, final

from orias.diag import VerifyError
from orias.options import Options
from orias.ori.ir import Func
from orias.pipeline.find_phase import find_phases
from orias.pipeline.functions import Trace
from orias.pipeline.phases import PHASES, Phase

_SHOWN: Final = 5
"""Largest number of faults in a message."""


@final
class Watch:
    """Called by the runner before and after each phase; exists only if an option or a caller asks for an observation.

    ``times``: seconds by phase name; ``runs``: how often each phase ran; ``spans``: (phase, function,
    start, seconds) of each run, by the performance counter.
    """

    __slots__ = ("_after", "_before", "_folder", "_start", "_trace", "_verify", "runs", "spans", "times")

    def __init__(self, options: Options, trace: "Trace | None") -> None:
        self._before: dict[str, list[str]] = _patterns(options.dump_before)
        self._after: dict[str, list[str]] = _patterns(options.dump_after)
        self._folder: str = options.dump_dir
        self._verify: bool = options.verifies
        self._trace = trace
        self._start: float = 0.0
        self.times: dict[str, float] = {}
        self.runs: dict[str, int] = {}
        self.spans: list[tuple[str, str, float, float]] = []

    def before(self, phase: Phase, fn: Func) -> None:
        """Note that the phase is about to run."""
        if self._before and _matches(self._before, phase, fn):
            self._write("before", phase, fn)
        self._start = time.perf_counter()

    def after(self, phase: Phase, fn: Func) -> None:
        """Note that the phase has run; raises VerifyError if the function then breaks a rule of Ori."""
        name = phase.name
        seconds = time.perf_counter() - self._start
        self.times[name] = self.times.get(name, 0.0) + seconds
        self.spans.append((name, fn.name, self._start, seconds))
        self.runs[name] = self.runs.get(name, 0) + 1
        if fn.decisions is not None:
            for d in fn.decisions:
                d.phase = d.phase or name
        if self._after and _matches(self._after, phase, fn):
            self._write("after", phase, fn)
        if self._verify:
            verify_function(f"after phase {name}", fn)
        if self._trace is not None:
            self._trace(name, fn)

    def _write(self, when: str, phase: Phase, fn: Func) -> None:
        from pathlib import Path

        from orias.ori.text import dump

        number = PHASES.index(phase) + 1
        text = f"# {when} {phase.name} (phase {number} of {len(PHASES)})\n{dump(fn)}"
        if not self._folder:
            sys.stderr.write(text + "\n")
            return
        folder = Path(self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{file_part(fn.name)}.{number:02}-{when}-{phase.name}.ori").write_text(text, encoding="utf-8")


def verify_function(when: str, fn: Func) -> None:
    """Raise VerifyError, with `when`, the function's name and the faulty instructions, if a function is not sound."""
    from orias.ori.verify import verify

    faults = verify(fn)
    if faults:
        more = f"\n({len(faults) - _SHOWN} more)" if len(faults) > _SHOWN else ""
        raise VerifyError(f"{when}, function {fn.name}:\n" + "\n".join(faults[:_SHOWN]) + more)


def file_part(name: str) -> str:
    """A function's name as a part of a file name."""
    return "".join(c if c.isalnum() or c in "._-$" else "_" for c in name)[:120]


def _patterns(requests: list[str]) -> dict[str, list[str]]:
    """Patterns of function names by phase, from requests ``PHASE`` or ``PHASE:FUNCTION``."""
    out: dict[str, list[str]] = {}
    for request in requests:
        name, _, functions = request.partition(":")
        for phase in find_phases(name):
            out.setdefault(phase.name, []).append(functions or "*")
    return out


def _matches(patterns: dict[str, list[str]], phase: Phase, fn: Func) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(fn.name, p) for p in patterns.get(phase.name, ()))
