"""Runs programs with and without seeded faults under the sanitizer and counts.

A change counts as a fault if it is one by construction (an address outside of all memory, a misaligned one), or if another
judge sees it: PTX run with one thread after the other, the last one first, or SASS run by all threads together, gives a wrong
result, an error or no end.  A removed barrier that orders nothing is no fault, nor is a wrong address of a load that the compiler
removes because nobody uses what it loads.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim import SimError
from orias.sim.core.launch_arguments import triple
from orias.sim.ptx import PtxImage
from orias.sim.ptx.choice import CHOICES
from tools.sanitizer.checked_image import CheckedImage
from tools.sanitizer.fault_seeds import ADDRESSES, Fault, faults

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
            except CompileError:
                continue
            if reason:
                kinds.add(fault.kind)
                yield Outcome(p.name, fault, reason[:100], ", ".join(dict.fromkeys(found)))
