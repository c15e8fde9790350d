"""Tokens of GNU make's jobserver: the right to run one more process (make's manual, "Integrating the job server").

A process that make started may do one thing at a time without a token.  ``MAKEFLAGS`` names two file descriptors, or a
FIFO, that hold the tokens, a byte each.
"""

import os
from collections.abc import Mapping
from typing import final


@final
class JobServer:
    """The jobserver that an environment names.  ``found``: it can be used."""

    __slots__ = ("_read", "_taken", "_write", "found")

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._read: int = -1
        self._write: int = -1
        self._taken: bytes = b""
        for flag in environment.get("MAKEFLAGS", "").split():
            name, _, value = flag.partition("=")
            if name in ("--jobserver-auth", "--jobserver-fds"):
                self._open(value)
        self.found: bool = self._write >= 0

    def _open(self, value: str) -> None:
        """Open the tokens for reading without waiting, which the descriptors that make hands on are not."""
        self.close()
        try:
            if value.startswith("fifo:"):
                name = value.removeprefix("fifo:")
                self._read = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
                self._write = os.open(name, os.O_WRONLY)
                return
            read, write = (int(n) for n in value.split(","))
            self._read = os.open(f"/proc/self/fd/{read}", os.O_RDONLY | os.O_NONBLOCK)
            self._write = os.dup(write)
        except (OSError, ValueError):
            self.close()

    def take(self, count: int) -> int:
        """Take up to ``count`` tokens that are free now; returns how many it got."""
        got = b""
        while self.found and len(got) < count:
            try:
                token = os.read(self._read, 1)
            except OSError:
                break
            if not token:
                break
            got += token
        self._taken += got
        return len(got)

    def give_back(self) -> None:
        """Return every token that was taken, the same bytes."""
        if self._taken:
            os.write(self._write, self._taken)
        self._taken = b""

    def close(self) -> None:
        """Close the descriptors of this object."""
        for number in (self._read, self._write):
            if number >= 0:
                os.close(number)
        self._read = self._write = -1
