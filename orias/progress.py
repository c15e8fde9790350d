"""A progress bar for commands that take longer than two seconds."""

import os
import sys
import time
from typing import Final, final

_WIDTH: Final = 30
_PAUSE: Final = 0.1
"""Minimum number of seconds between two updates."""
AFTER = 2.0
"""Seconds from the start of a command to the first update."""


@final
class Bar:
    """A progress bar on standard error, if that is a terminal."""

    __slots__ = ("_drawn", "_last", "_start", "on")

    def __init__(self, quiet: bool = False) -> None:
        self.on: Final[bool] = not quiet and sys.stderr.isatty()
        self._start: Final[float] = time.monotonic()
        self._last = 0.0
        self._drawn = False

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Draws the bar for `done` of `total`; ends the line when it is full."""
        if not self.on:
            return
        now = time.monotonic()
        if now - self._start < AFTER and not self._drawn:
            return
        if done < total and now - self._last < _PAUSE:
            return
        self._last = now
        self._drawn = True
        filled = _WIDTH * done // max(total, 1)
        sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {what[-40:]:<40}")
        if done >= total:
            sys.stderr.write("\n")
            self._drawn = False
        sys.stderr.flush()

    def rest(self, done: int, total: int) -> str:
        """The rate so far and the time left at that rate, for `done` of `total` parts of like size."""
        seconds = time.monotonic() - self._start
        if done <= 0 or seconds <= 0:
            return ""
        return f"{done / seconds:.1f}/s, {(total - done) * seconds / done:.0f} s left"

    def steps(self) -> "Steps":
        """The steps of a compile, drawn by this bar."""
        return Steps(self)

    def clear(self) -> None:
        """Erases an unfinished bar before other output."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
            self._last = 0.0


@final
class Steps:
    """The progress of a compile: phases that ran on functions, of those to run.

    Only the process that made it draws: copies of the process compile other kernels at the same time.
    """

    __slots__ = ("_bar", "_done", "_process", "_total")

    def __init__(self, bar: Bar) -> None:
        self._bar: Final[Bar] = bar
        self._process: Final[int] = os.getpid()
        self._done = 0
        self._total = 0

    def begin(self, total: int) -> None:
        """Set the number of steps."""
        self._total = total

    def reach(self, done: int) -> None:
        """Note that at least so many steps are done."""
        self._done = max(self._done, done)

    def step(self, what: str) -> None:
        """Note one more step; the bar stays short of full, for the cubin is still to be made."""
        self._done = min(self._done + 1, self._total - 1)
        if os.getpid() == self._process:
            self._bar(self._done, self._total, what)
