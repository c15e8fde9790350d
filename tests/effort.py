"""How much work a call does, in executed lines of Python rather than in seconds, so that the machine's load does not matter."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def lines_executed(run: Callable[[], object]) -> int:
    """Lines of Python code that `run` executes (code built with mypyc is not seen and counts nothing)."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@contextmanager
def must_end(cpu_seconds: int) -> Iterator[None]:
    """Fail instead of hanging: AssertionError after so much processor time, which must be far above what is needed."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"no end after {cpu_seconds} s of processor time")

    old = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
