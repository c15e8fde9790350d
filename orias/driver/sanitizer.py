"""The checks that ``orias exec --tool`` asks for: what they found, on standard error and as JSON."""

import json
import mmap
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.driver.host_memory import NO_RESERVE, POOL_SIZE, HostArena
from orias.sim.checks.checker import TOOLS, Checker, lines_of
from orias.sim.checks.findings import Finding, Spot
from orias.sim.core.engine import Timing
from orias.sim.core.image import Image
from orias.sim.core.launch import Result
from orias.sim.core.sim_errors import Deadlock, PartOfWarp, SimError
from orias.sim.core.state import Active, Machine

Arr = npt.NDArray[Any]
_OURS: Final = os.path.dirname(__file__) + os.sep


class Written:
    """Which bytes of device memory were written: one byte for each, of which the system provides what is used."""

    def __init__(self, arena: HostArena) -> None:
        self._pool: Final = arena.pool
        self._first: Final = arena.pool - arena.base
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
        self._map = mmap.mmap(-1, POOL_SIZE, flags=flags)
        self.bytes: Final[Arr] = np.frombuffer(self._map, np.bool_)
        self.all = False
        """All bytes may have been written: nothing can be said any more."""

    def _index(self, offset: Arr, size: int) -> Arr:
        at: Arr = offset[:, None] - self._first + np.arange(size)
        return at

    def unwritten(self, offset: Arr, size: int) -> Arr:
        """Which accesses read a byte that nobody wrote; memory of the host counts as written."""
        inside = (offset >= self._first) & (offset < self._first + POOL_SIZE - size)
        out = np.zeros(len(offset), np.bool_)
        if not self.all and inside.any():
            out[inside] = ~self.bytes[self._index(offset[inside], size)].all(axis=1)
        return out

    def wrote(self, offset: Arr, size: int) -> None:
        """Bytes were written."""
        inside = (offset >= self._first) & (offset < self._first + POOL_SIZE - size)
        self.bytes[self._index(offset[inside], size)] = True

    def spoiled(self, offset: Arr) -> None:
        """Bytes hold what nobody wrote."""
        inside = (offset >= self._first) & (offset < self._first + POOL_SIZE)
        self.bytes[offset[inside] - self._first] = False

    def wrote_anything(self) -> None:
        """Bytes that are not known were written."""
        self.all = True

    def fill(self, address: int, size: int) -> None:
        """A range was written by the host."""
        if self._pool <= address < self._pool + POOL_SIZE - size:
            self.bytes[address - self._pool : address - self._pool + size] = True

    def copy(self, to: int, source: int, size: int) -> None:
        """A range was copied: from device memory with what was unwritten there."""
        if self._pool <= to < self._pool + POOL_SIZE - size:
            part: Any = True
            if self._pool <= source < self._pool + POOL_SIZE - size:
                part = self.bytes[source - self._pool : source - self._pool + size].copy()
            self.bytes[to - self._pool : to - self._pool + size] = part


class Sanitizer:
    """The chosen tools and what they found in this process."""

    def __init__(self, arena: HostArena) -> None:
        self.tools: Final = tuple(t for t in os.environ.get("ORIAS_TOOL", "").split(",") if t in TOOLS)
        self.findings: Final[list[Finding]] = []
        self.arena: Final = arena
        self.launches = 0
        self._ended = False
        self._allocations = 0
        self._calls: Final = bool(os.environ.get("ORIAS_API_ERRORS"))
        self.written: Final = Written(arena) if "initcheck" in self.tools else None
        arena.written = self.written

    def launch(self, image: Image, name: str, *arguments: Any, **options: Any) -> Result:
        """Launches a kernel with the checks; a SimError is a finding, too, and raised."""
        self.launches += 1
        checker = Checker(image, name, self.tools, self.written)
        if "hazards" in self.tools:
            options["hazards"], options["timing"] = "stale", None
        elif set(self.tools) - {"memcheck"}:
            options["timing"] = _together(checker.start, options.get("timing"))
        found = checker.findings
        try:
            result = image.launch(name, *arguments, **options)
            found += [hazard(image, name, v) for v in result.hazards]
            if result.let_go >= 0 and "synccheck" in self.tools:
                plan = image.compile(result.let_go)
                spot = Spot(plan.address, plan.text(), (0, 0, 0), (0, 0, 0), *lines_of(image, result.let_go))
                message = "warp synchronisation that threads of its mask do not reach"
                found.append(Finding("synccheck", "missing", name, message, [spot]))
            return result
        except SimError as e:
            found.append(self._error(image, name, e))
            raise
        finally:
            self.report(found)

    def _error(self, image: Image, name: str, e: SimError) -> Finding:
        tool = "synccheck" if isinstance(e, (Deadlock, PartOfWarp)) else "memcheck"
        spots = []
        if e.address >= 0:
            start = next((at for at, place in image.code_places() if place == name), 0)
            lines = lines_of(image, (start + e.address) >> 4)
            spots = [Spot(e.address, e.text, e.block or (0, 0, 0), e.thread or (0, 0, 0), *lines)]
        return Finding(tool, type(e).__name__, name, e.message, spots)

    def report(self, found: list[Finding]) -> None:
        """Prints findings and keeps them."""
        self.findings.extend(found)
        for f in found:
            sys.stderr.write("".join(f"orias: {line}\n" for line in f.lines()))

    def allocated(self, address: int) -> None:
        """Notes where the program makes an allocation: its number, and the line of Python that asked for it, if any."""
        self._allocations += 1
        self.arena.origins[address] = f"allocation {self._allocations}{_at(_caller())}"

    def failed_call(self, name: str, result: str, reason: str) -> None:
        """A function of the driver or the runtime failed."""
        if self._calls and self.tools:
            message = f"{name} failed with {result}{reason and ': ' + reason}{_at(_caller())}"
            self.report([Finding("memcheck", "call", "", message, [])])

    def leaks(self) -> list[Finding]:
        """Device memory that the program did not give back."""
        out = []
        for r in self.arena.ranges.values():
            if self.arena.in_pool(r.start) and r.kind in ("device", "managed", "host"):
                origin = self.arena.origins.get(r.start, "")
                what = f"{r.size} bytes of {r.kind} memory at 0x{r.start:x}{origin and ', ' + origin},"
                out.append(Finding("memcheck", "leak", "", f"{what} were not given back", []))
        return out

    def end(self) -> int:
        """Reports the end of the program: the summary, and all findings as JSON; returns the exit code for errors."""
        if self._ended or not self.tools:
            return 0
        self._ended = True
        if os.environ.get("ORIAS_LEAKS"):
            self.report(self.leaks())
        errors = sum(f.count for f in self.findings)
        names = ", ".join(self.tools)
        sys.stderr.write(f"orias: {names}: {errors} errors at {len(self.findings)} places, {self.launches} launches\n")
        path = os.environ.get("ORIAS_TOOL_JSON")
        if path:
            records = {"tools": self.tools, "launches": self.launches, "findings": [f.record() for f in self.findings]}
            try:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(json.dumps(records, indent=1) + "\n")
            except OSError as e:
                sys.stderr.write(f"orias: {path}: {e.strerror}\n")
        code = os.environ.get("ORIAS_ERROR_EXITCODE", "0")
        return int(code) if errors and code.isdigit() else 0


def _at(line: str) -> str:
    return f" at {line}" if line else ""


def _caller() -> str:
    """File, line and function of the Python program that called the driver: outside of installed packages, if it is there."""
    frame: FrameType | None = sys._getframe(1)
    first = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_OURS, "<")) and f"{os.sep}ctypes{os.sep}" not in name:
            line = f"{name}:{frame.f_lineno} ({frame.f_code.co_name})"
            if "site-packages" not in name:
                return line
            first = first or line
        frame = frame.f_back
    return first


_Start = Callable[[Machine], Timing | None]


class _Both:
    """Two sets of callbacks around every instruction."""

    def __init__(self, one: Timing, other: Timing) -> None:
        self._both = one, other

    def issue(self, pc: int, cur: Active) -> None:
        for t in self._both:
            t.issue(pc, cur)

    def read(self, act: Active) -> None:
        for t in self._both:
            t.read(act)

    def done(self, cur: Active, act: Active | None) -> None:
        for t in self._both:
            t.done(cur, act)


def _together(one: _Start, other: _Start | None) -> _Start:
    """Starts both callbacks for each batch of blocks."""
    if other is None:
        return one

    def start(m: Machine) -> Timing | None:
        made = [t for t in (one(m), other(m)) if t is not None]
        return _Both(*made) if len(made) == 2 else made[0] if made else None

    return start


def hazard(image: Image, name: str, violation: Any) -> Finding:
    """A result that was used before the control words allow it."""
    start = next((at for at, place in image.code_places() if place == name), 0)
    lines = lines_of(image, (start + violation.address) >> 4)
    spot = Spot(violation.address, violation.text, violation.block, (32 * violation.warp, 0, 0), *lines)
    return Finding("hazards", violation.rule, name, violation.what(), [spot])
