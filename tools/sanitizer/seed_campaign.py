"""Runs programs with and without seeded faults under the sanitizer and counts.

A change counts as a fault if it is one by construction (an address outside of all memory, a misaligned one), or if another
judge sees it: PTX run with one thread after the other, the last one first, or SASS run by all threads together, gives a wrong
result, an error or no end.  A removed barrier that orders nothing is no fault.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim import SimError
from orias.sim.core.image import Image
from orias.sim.ptx import PtxImage
from orias.sim.ptx.choice import CHOICES
from tools.sanitizer.checked_image import CheckedImage, Failed
from tools.sanitizer.fault_seeds import Fault, faults

_SERIAL = next(c for c in CHOICES if c.serial)
STEPS = 300_000
"""Steps after which a program counts as one that does not end."""


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


class _Sass(_Short, Image):
    """SASS of a program."""


class _Serial(_Short, PtxImage):
    """PTX of a program."""


class _Checked(_Short, CheckedImage):
    """SASS of a program, with the tools."""


def _together(p: Program, text: str) -> str:
    return _wrong(p, _Sass(_cubin(text, p.arch)))


def _serially(p: Program, text: str) -> str:
    return _wrong(p, _Serial(parse(text, "program.ptx"), p.arch, _SERIAL))


def _wrong(p: Program, image: Any) -> str:
    try:
        return p.check(image)
    except (SimError, AssertionError) as e:
        return f"{type(e).__name__} {e}"


def judges(p: Program) -> list[Callable[[Program, str], str]]:
    """The judges that find nothing wrong with a program as it is."""
    return [judge for judge in (_together, _serially) if not judge(p, p.text)]


def judged(p: Program, fault: Fault, by: list[Callable[[Program, str], str]]) -> str:
    """Why a change is a fault; nothing if no judge sees one."""
    for judge in by:
        wrong = judge(p, fault.text)
        if wrong:
            return f"{judge.__name__.strip('_')}: {wrong[:80]}"
    return ""


def found(p: Program, text: str) -> list[str]:
    """What the sanitizer finds."""
    image = _Checked(_cubin(text, p.arch))
    with contextlib.suppress(Failed):
        p.check(image)
    return [f"{f.tool}: {f.kind}" for f in image.findings]


def alarms(programs: Iterable[Program]) -> list[tuple[str, str]]:
    """False alarms: program and finding."""
    return [(p.name, f) for p in programs for f in found(p, p.text)]


def campaign(programs: list[Program], seed: int, each: int, seconds: float) -> Iterator[Outcome]:
    """Seeds up to `each` faults of different classes in each program, until `seconds` of processor time are over."""
    end = time.process_time() + seconds
    for p in programs:
        kinds: set[str] = set()
        by = judges(p)
        for fault in faults(p.text, seed):
            if len(kinds) >= each or time.process_time() > end:
                break
            if fault.kind in kinds:
                continue
            try:
                reason = judged(p, fault, by)
                if not reason:
                    continue
                tools = found(p, fault.text)
            except CompileError:
                continue
            kinds.add(fault.kind)
            yield Outcome(p.name, fault, reason, ", ".join(dict.fromkeys(tools)))
