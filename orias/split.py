"""Work on many parts in several processes at the same time."""

import gc
import os
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, TypeVar

    Part = TypeVar("Part")
_ITEM: Final = struct.Struct("<I")
_QUEUE: Final = 4096
"""Largest number of parts in the queue: a pipe holds at least so many without a reader (POSIX: 512 bytes at once, Linux 64 KiB)."""


def can_split() -> bool:
    """True if the system can copy the running process."""
    return hasattr(os, "fork")


def work_in_processes(order: list[int], workers: int, work: "Callable[[int], Part]") -> "dict[int, Part]":
    """``work(i)`` for each number of a list, in this process and ``workers`` - 1 copies of it; returns the results by number.

    Whoever is free takes the next number.  What a copy does to the state of the program is lost but for the results,
    which must be picklable.  If a copy dies, or ``work`` raises in
    it, this process does its part again.
    """
    results: dict[int, Part] = {}
    head, rest = order[:_QUEUE], order[_QUEUE:]
    read, write = os.pipe()
    os.write(write, b"".join(_ITEM.pack(i) for i in head))
    os.close(write)
    copies: list[tuple[int, BinaryIO]] = []
    for _ in range(min(workers, len(head)) - 1):
        answers, out = os.pipe()
        pid = os.fork()
        if pid == 0:
            _copy(read, out, work)
        os.close(out)
        copies.append((pid, os.fdopen(answers, "rb")))
    try:
        for i in _Queue(read):
            results[i] = work(i)
        for _, answers_file in copies:
            results.update(_answers(answers_file))
    except BaseException:
        import signal

        for pid, _ in copies:
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(read)
        for pid, answers_file in copies:
            answers_file.close()
            os.waitpid(pid, 0)
    for i in [*head, *rest]:
        if i not in results:
            results[i] = work(i)
    return results


def _answers(file: "BinaryIO") -> "dict[int, Part]":
    """The results of a copy; none if it died."""
    import pickle

    try:
        found: dict[int, Part] = pickle.load(file)
    except (EOFError, pickle.UnpicklingError):
        return {}
    return found


class _Queue:
    """Numbers from a pipe that several processes read."""

    __slots__ = ("_read",)

    def __init__(self, read: int) -> None:
        self._read: int = read

    def __iter__(self) -> "_Queue":
        return self

    def __next__(self) -> int:
        data = os.read(self._read, _ITEM.size)
        if len(data) < _ITEM.size:
            raise StopIteration
        (number,) = _ITEM.unpack(data)
        return int(number)


def _copy(read: int, out: int, work: "Callable[[int], Part]") -> None:
    """The life of a copy: takes numbers until there are no more, writes its results, ends."""
    import pickle

    code = 1
    try:
        gc.freeze()
        results = {i: work(i) for i in _Queue(read)}
        with os.fdopen(out, "wb") as file:
            pickle.dump(results, file, pickle.HIGHEST_PROTOCOL)
        code = 0
    finally:
        os._exit(code)
