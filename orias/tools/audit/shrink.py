"""Makes a wrong result small: the launch first, then the PTX if there is a compiler, inside a limit of time."""

import time
from collections.abc import Callable
from typing import Final

from orias.diag import CompileError
from orias.sim.core.sim_errors import SimError
from orias.tools.audit.audit_kernel import DIFFERENT, Auditor, Verdict
from orias.tools.audit.audit_subject import Binary
from orias.tools.audit.compilers import Compiler
from orias.tools.fuzz.around import ways_around
from orias.tools.validate.case import Case, Region, from_json
from orias.tools.validate.reduce import Reducer

Save = Callable[[str], None]
_CONTENTS: Final = ("zero", "small")
"""Simpler contents of memory, simplest first."""


def _wrong(ptx: str, kernel: str, binary: Binary, case: Case) -> bool:
    """True if a cubin is wrong in a launch."""
    try:
        auditor = Auditor(ptx, cases=[case])
        function = next((k for k in auditor.kernels() if k.name == kernel), None)
        return function is not None and auditor.audit(function, binary, explain=False).outcome == DIFFERENT
    except (CompileError, SimError, ValueError, KeyError, IndexError, AssertionError):
        return False


def smaller_launch(ptx: str, verdict: Verdict, until: float) -> Case:
    """The launch of a difference with fewer blocks and simpler memory, as far as the result stays wrong.

    `until`: the time of ``time.monotonic`` at which the search ends.
    """
    assert verdict.difference is not None
    best = verdict.difference.case
    trials: list[Callable[[Case], None]] = [_one_block]
    for place in best.pointers:
        trials.extend(_contents(place, kind) for kind in _CONTENTS)
    for change in trials:
        if time.monotonic() >= until:
            break
        trial = from_json(best.json())
        change(trial)
        if trial.json() != best.json() and _wrong(ptx, verdict.kernel, verdict.binary, trial):
            best = trial
    return best


def _one_block(case: Case) -> None:
    case.grid = (1, 1, 1)


def _contents(place: tuple[int, int], kind: str) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        old = case.pointers[place]
        if old.data is None and old.profile not in _CONTENTS[: _CONTENTS.index(kind) + 1] and old.inner is None:
            case.pointers[place] = Region(old.size, kind, old.seed, old.start)

    return change


def smaller_ptx(ptx: str, verdict: Verdict, compiler: Compiler, until: float, save: Save | None = None) -> str:
    """The PTX with what can be deleted deleted, as far as the compiler's result stays wrong; ``save`` gets each smaller one."""
    assert verdict.difference is not None
    case = verdict.difference.case

    def fails(text: str) -> bool:
        cubin = compiler.compile(text, verdict.binary.arch)
        if isinstance(cubin, str):
            return False
        try:
            return _wrong(text, verdict.kernel, Binary("reduced", cubin), case)
        except (ValueError, KeyError):
            return False

    return Reducer(fails, until=until, save=save).run(ptx)


def confirmed(ptx: str, verdict: Verdict, compiler: Compiler, until: float) -> str:
    """The name of the known fault of ptxas without which the compiler's result is right; empty if none is.

    Each rewriting of the PTX avoids one fault; the results of the PTX stay the same.
    """
    assert verdict.difference is not None
    case = verdict.difference.case
    for fault, other in ways_around(ptx):
        if time.monotonic() >= until:
            return ""
        cubin = compiler.compile(other, verdict.binary.arch)
        if isinstance(cubin, bytes) and _right(ptx, verdict, cubin, case):
            return fault
    return ""


def _right(ptx: str, verdict: Verdict, cubin: bytes, case: Case) -> bool:
    """True if the cubin of the rewritten PTX does what the first PTX says."""
    try:
        binary = Binary("around", cubin)
        auditor = Auditor(ptx, cases=[case])
        function = next(k for k in auditor.kernels() if k.name == verdict.kernel)
        return auditor.audit(function, binary, explain=False).outcome == "equal"
    except (CompileError, SimError, ValueError, KeyError, StopIteration):
        return False
