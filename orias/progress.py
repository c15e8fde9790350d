"""A progress bar for long commands."""

import sys
import time
from typing import Final, final

_WIDTH: Final = 30
_PAUSE: Final = 0.1
"""Minimum number of seconds between two updates."""


@final
class Bar:
    """A progress bar on standard error, if that is a terminal."""

    __slots__ = ("_drawn", "_last", "on")

    def __init__(self, quiet: bool = False) -> None:
        self.on: Final[bool] = not quiet and sys.stderr.isatty()
        self._last = 0.0
        self._drawn = False

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Draws the bar for `done` of `total`; ends the line when it is full."""
        if not self.on:
            return
        now = time.monotonic()
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

    def clear(self) -> None:
        """Erases an unfinished bar before other output."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
            self._last = 0.0
