"""Runs kernels of any PTX files under the sanitizer, with launches that are chosen for them.

The launches are those of the audit (:mod:`orias.tools.audit.launch_choice`).  Their arguments are not the program's, so that rows may
overlap and much may be read that nobody wrote.  Such findings are true; they count by what shows it: the PTX leaves results open
(they depend on the order of threads, or on what memory and registers held before), or has nothing that orders threads.  The other
findings are to be looked at.
"""

import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from orias.ptx.ast import Function, Instr, Module
from orias.ptx.parser import parse
from orias.sim.core.sim_errors import SimError
from orias.target.profile import TARGETS
from orias.tools.audit.launch_choice import usable_launch
from orias.tools.validate.case import Case
from orias.tools.validate.run_case import Outcome, open_words, run
from tools.sanitizer.checked_image import TOOLS, CheckedImage, Failed

RAN = "ran"
"""No finding."""
OPEN = "results left open"
"""A finding in a launch whose results the PTX does not determine."""
UNORDERED = "unordered"
"""A race in global memory, in a module that orders no threads."""
ALARM = "finding"
"""Another finding."""
LATE = "late"
NO_LAUNCH = "no launch"
_ORDERS = re.compile(
    r"(bar|barrier|membar|fence|mbarrier|atom|red|shfl|vote|match|activemask|redux|elect|cp|griddepcontrol|call)$"
)
"""Names of instructions that order threads, or may."""
_GLOBAL_RACE = "racecheck: race at global address"


class Kernel(NamedTuple):
    """A kernel that was looked at: how it went, and each finding in one line."""

    file: str
    kernel: str
    state: str
    findings: list[str]


class _Late(BaseException):
    """A kernel took too long."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raises _Late after seconds of processor time."""

    def late(*_: object) -> None:
        raise _Late

    old = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def _target(module: Module, arch: str) -> str:
    """The target of a file where it is one of an architecture's own, else `arch`."""
    return module.target if module.target in TARGETS and module.target[-1] in "af" else arch


def kernels(paths: list[Path], arch: str, seed: int, each: int, seconds: float) -> Iterator[Kernel]:
    """At most `each` kernels of each file, files and kernels in an order that the seed decides; `seconds` of processor time for each."""
    order = random.Random(seed)
    paths = sorted(paths)
    order.shuffle(paths)
    for path in paths:
        text = path.read_text(encoding="latin-1")
        try:
            module = parse(text, path.name)
            target = _target(module, arch)
            options = Options(target, 3)
            options.keep_warp_barriers = True
            cubin = compile_text([(path.name, text)], options).data
        except CompileError:
            continue
        found = [f for f in module.functions if f.entry and f.body is not None]
        for function in order.sample(found, min(each, len(found))):
            try:
                with _limit(seconds):
                    state, findings = _checked(module, function, target, cubin)
            except _Late:
                state, findings = LATE, []
            yield Kernel(path.name, function.name, state, findings)


def _checked(module: Module, function: Function, arch: str, cubin: bytes) -> tuple[str, list[str]]:
    try:
        chosen = usable_launch(module, function, arch, 0, CheckedImage(cubin))
    except SimError as e:
        return NO_LAUNCH, [str(e)]
    if isinstance(chosen, str):
        return NO_LAUNCH, [chosen]
    case, outcome = chosen
    if outcome.error is not None:
        return NO_LAUNCH, [str(outcome.error)]
    findings = [line for tools in (TOOLS, ("hazards",)) for line in _findings(cubin, case, tools)]
    if not findings:
        return RAN, []
    if not any(_orders(f) for f in module.functions) and all(f.startswith(_GLOBAL_RACE) for f in findings):
        return UNORDERED, findings
    return (OPEN if _open(module, arch, case, cubin, outcome) else ALARM), findings


def _orders(function: Function) -> bool:
    return any(isinstance(i, Instr) and _ORDERS.match(i.sig.name) for i in function.body or [])


def _findings(cubin: bytes, case: Case, tools: tuple[str, ...]) -> list[str]:
    image = CheckedImage(cubin, tools)
    try:
        out = run(image, case)
    except Failed:
        out = None
    wrong = [f"error: {out.error}"] if out is not None and out.error is not None else []
    return [*(" ".join(x.strip() for x in f.lines()) for f in image.findings), *wrong]


def _open(module: Module, arch: str, case: Case, cubin: bytes, outcome: Outcome) -> bool:
    """Whether the PTX leaves results of a launch open."""
    mask = open_words(module, arch, case, CheckedImage(cubin), outcome)
    return mask is None or any(m.any() for m in [*mask.regions, *mask.variables.values()])
