"""Runs programs with and without seeded faults under the sanitizer and counts.

A change counts as a fault if it is one by construction (an address outside of all memory, a misaligned one), or if another
judge sees it: PTX run with one thread after the other, the last one first, or SASS run by all threads together, gives a wrong
result, an error or no end.  A removed barrier that orders nothing is no fault, nor is a wrong address of a load that the compiler
removes because nobody uses what it loads.  A first store or move that is taken away is a fault if the PTX then gives other results
with other values of what nobody wrote: a program without an update is wrong, but reads what is written.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim import SimError
from orias.sim.core.launch_arguments import triple
from orias.sim.ptx import PtxImage
from orias.sim.ptx.choice import CANONICAL, CHOICES
from tools.sanitizer.checked_image import CheckedImage
from tools.sanitizer.fault_seeds import ADDRESSES, INITIAL, Fault, faults

_UNWRITTEN = (0x7FF0DEAD, 0x800F2152)
"""Two values of registers that nobody wrote, which differ in every byte."""
_SERIAL = next(c for c in CHOICES if c.serial)
STEPS = 300_000
"""Steps after which a program counts as one that does not end."""
SERIAL_STEPS = 60_000
"""The same for threads that run one after the other; a program that needs more is not judged so."""


class Program(NamedTuple):
    """A program and how it is checked: ``check(image)`` says what is wrong, nothing if all is right."""

    name: str
    text: str
    arch: str
    check: Callable[[Any], str]


class Outcome(NamedTuple):
    """A seeded fault: what the judges saw (nothing: it is no fault) and what the sanitizer found."""

    program: str
    fault: Fault
    judged: str
    found: str


def _cubin(text: str, arch: str) -> bytes:
    o = Options(arch, 3)
    o.keep_warp_barriers = True
    return compile_text([("program.ptx", text)], o).data


class _Short:
    """Limits the steps of launches."""

    def launch(self, *arguments: Any, **options: Any) -> Any:
        options["max_steps"] = min(options.get("max_steps", STEPS), STEPS)
        return super().launch(*arguments, **options)  # type: ignore[misc]


class _Serial(PtxImage):
    """PTX of a program; the engine multiplies its limit by the threads."""

    def launch(self, name: str, grid: Any, block: Any, *arguments: Any, **options: Any) -> Any:
        threads = math.prod((*triple(grid), *triple(block)))
        options["max_steps"] = max(1, SERIAL_STEPS // threads)
        return super().launch(name, grid, block, *arguments, **options)


class _Recorded(_Short, PtxImage):
    """PTX of a program; ``results`` has what each launch left in the arrays it was given, and its text."""

    def __init__(self, text: str, arch: str, unwritten: int) -> None:
        super().__init__(parse(text, "program.ptx"), arch, CANONICAL._replace(poison=unwritten))
        self.results: list[bytes] = []

    def launch(self, name: str, grid: Any, block: Any, arguments: Any = (), *others: Any, **options: Any) -> Any:
        result = super().launch(name, grid, block, arguments, *others, **options)
        self.results += [a.tobytes() for a in arguments if isinstance(a, np.ndarray)]
        self.results.append(result.output.encode())
        return result


class _Checked(_Short, CheckedImage):
    """SASS of a program, with the tools."""


def checked(p: Program, text: str) -> tuple[str, list[str]]:
    """What is wrong with a program when all its threads run together, and what the sanitizer finds."""
    image = _Checked(_cubin(text, p.arch))
    wrong = _wrong(p, image)
    return wrong, [f"{f.tool}: {f.kind}" for f in image.findings]


def serially(p: Program, text: str) -> str:
    """What is wrong with a program when its threads run one after the other."""
    return _wrong(p, _Serial(parse(text, "program.ptx"), p.arch, _SERIAL))


def reads_unwritten(p: Program, text: str) -> bool:
    """Whether the results of a program depend on what nobody wrote."""
    seen = []
    for value in _UNWRITTEN:
        image = _Recorded(text, p.arch, value)
        seen.append((_wrong(p, image), image.results))
    return seen[0] != seen[1]


def _wrong(p: Program, image: Any) -> str:
    try:
        return p.check(image)
    except (SimError, AssertionError) as e:
        return f"{type(e).__name__} {e}"


def alarms(programs: Iterable[Program]) -> Iterator[tuple[str, list[str]]]:
    """Each program with what is found in it: false alarms."""
    for p in programs:
        wrong, found = checked(p, p.text)
        yield p.name, [*found, *([f"wrong: {wrong}"] if wrong else [])]


def campaign(programs: list[Program], seed: int, each: int, seconds: float) -> Iterator[Outcome]:
    """Seeds up to `each` faults of different classes in each program, until `seconds` of processor time are over."""
    end = time.process_time() + seconds
    for p in programs:
        if time.process_time() > end:
            return
        kinds: set[str] = set()
        judge = not serially(p, p.text)
        for fault in faults(p.text, seed):
            if len(kinds) >= each or time.process_time() > end:
                break
            if fault.kind in kinds:
                continue
            try:
                wrong, found = checked(p, fault.text)
                reason = f"together: {wrong}" if wrong else ""
                if not reason and judge and fault.kind not in ADDRESSES:
                    wrong = serially(p, fault.text)
                    reason = f"serially: {wrong}" if wrong else ""
                if reason and fault.kind in INITIAL and not reads_unwritten(p, fault.text):
                    reason = ""
            except CompileError:
                continue
            if reason:
                kinds.add(fault.kind)
                yield Outcome(p.name, fault, reason[:100], ", ".join(dict.fromkeys(found)))
