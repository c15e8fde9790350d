"""Shrinks a failing PTX file by delta debugging (Zeller and Hildebrandt, TSE 2002) on functions, statements and operands."""

import math
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from orias.diag import CompileError
from orias.options import Options
from orias.sim.core.sim_errors import SimError

Test = Callable[[str], bool]
Progress = Callable[[int, int, str], None]

_REGISTER: Final = re.compile(r"%[A-Za-z_][A-Za-z0-9_]*")
_GUARD: Final = re.compile(r"^(\s*)@!?%[A-Za-z0-9_]+\s+")


def command_test(command: str, limit: float = 120.0) -> Test:
    """A file fails if the command exits with 0 within `limit` seconds; the file name replaces ``{}``, or is appended."""

    def test(text: str) -> bool:
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / "reduced.ptx"
            path.write_text(text, encoding="latin-1")
            words = shlex.split(command)
            words = [w.replace("{}", str(path)) for w in words] if "{}" in command else [*words, str(path)]
            try:
                return subprocess.run(words, capture_output=True, timeout=limit, check=False).returncode == 0
            except subprocess.TimeoutExpired:
                return False

    return test


def verify_test(options: Options, turns: int) -> Test:
    """A file fails if validation finds a difference in the compile by Orias."""
    from orias.tools.validate.verify_compile import verify

    def test(text: str) -> bool:
        try:
            return bool(verify(text, options, turns, phases=False).findings)
        except (CompileError, SimError, ValueError, KeyError, IndexError, AssertionError):
            return False

    return test


def pieces(text: str) -> list[str]:
    """The file in pieces that can be removed separately: one statement or directive per line."""
    out: list[str] = []
    for line in text.splitlines():
        line = line.split("//", 1)[0].rstrip()
        if not line.strip():
            continue
        parts = re.split(r"(?<=[;])(?=\s*[^\s}])", line) if line.count(";") > 1 and "{" not in line else [line]
        out.extend(p for p in parts if p.strip())
    return out


class Reducer:
    """One reduction; ``tests`` counts the runs of the test."""

    def __init__(
        self,
        test: Test,
        progress: Progress | None = None,
        until: float = math.inf,
        save: Callable[[str], None] | None = None,
    ) -> None:
        """`until`: the time of ``time.monotonic`` at which the search ends; `save` gets each smaller file that fails."""
        self._test = test
        self._progress = progress
        self._until = until
        self._save = save
        self._seen: dict[str, bool] = {}
        self.tests = 0

    def _fails(self, parts: list[str]) -> bool:
        text = "\n".join(parts) + "\n"
        known = self._seen.get(text)
        if known is None:
            if self.tests and time.monotonic() >= self._until:
                return False
            self.tests += 1
            known = self._test(text)
            self._seen[text] = known
            if known and self._save is not None:
                self._save(text)
        return known

    def run(self, text: str) -> str:
        """The smallest file found; ValueError if the given one does not fail."""
        parts = pieces(text)
        if not self._fails(parts):
            if not self._test(text):
                raise ValueError("the file does not fail")
            parts = text.splitlines()
        while True:
            before = list(parts)
            parts = self._functions(parts)
            parts = self._ranges(parts)
            parts = self._simpler(parts)
            if parts == before:
                return "\n".join(parts) + "\n"

    def _functions(self, parts: list[str]) -> list[str]:
        """Tries to remove each function body."""
        at = 0
        while at < len(parts):
            if re.match(r"\s*(\.visible\s+|\.weak\s+)?\.(func|entry)\b", parts[at]):
                end = _end_of_body(parts, at)
                shorter = parts[:at] + parts[end:]
                if end > at and self._fails(shorter):
                    parts = shorter
                    continue
            at += 1
        return parts

    def _ranges(self, parts: list[str]) -> list[str]:
        """Delta debugging on lines."""
        size = max(1, len(parts) // 2)
        while size:
            at = 0
            while at < len(parts):
                shorter = parts[:at] + parts[at + size :]
                if len(shorter) < len(parts) and self._fails(shorter):
                    parts = shorter
                else:
                    at += size
                if self._progress is not None:
                    self._progress(min(at, len(parts) - 1), len(parts), f"{len(parts)} lines, pieces of {size}")
            size //= 2
        return parts

    def _simpler(self, parts: list[str]) -> list[str]:
        """Tries statements without their guard, and with constants as sources."""
        for k in range(len(parts)):
            for candidate in _simpler_lines(parts[k]):
                trial = [*parts[:k], candidate, *parts[k + 1 :]]
                if self._fails(trial):
                    parts = trial
        return parts


def _end_of_body(parts: list[str], at: int) -> int:
    depth = 0
    opened = False
    for k in range(at, len(parts)):
        depth += parts[k].count("{") - parts[k].count("}")
        opened = opened or "{" in parts[k]
        if opened and depth <= 0:
            return k + 1
        if not opened and parts[k].rstrip().endswith(";"):
            return k + 1
    return at


def _simpler_lines(line: str) -> list[str]:
    out: list[str] = []
    bare = _GUARD.sub(r"\1", line)
    if bare != line:
        out.append(bare)
    if line.lstrip().startswith(".") or "," not in line or "[" in line or "{" in line:
        return out
    head, _, tail = line.partition(",")
    for match in _REGISTER.finditer(tail):
        for value in ("0", "1"):
            out.append(f"{head},{tail[: match.start()]}{value}{tail[match.end() :]}")
    return out
