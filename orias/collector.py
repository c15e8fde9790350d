"""The cyclic collector during a compile: it runs seldom, because the data of a compile has few cycles.

With the thresholds that CPython starts with it takes a fifth of the time of a large compile, and more in a process that
has many objects of its own, which each full collection visits.
"""

import gc
from _thread import LockType, allocate_lock
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from types import TracebackType

ALLOCATIONS: Final = 500_000
"""New container objects between two collections (CPython's default: 700)."""
_SELDOM: Final = (ALLOCATIONS, 10, 10)


@final
class _Compiles:
    """The compiles that run at present, in all threads, and the thresholds before the first of them."""

    __slots__ = ("before", "count", "lock")

    def __init__(self) -> None:
        self.lock: Final[LockType] = allocate_lock()
        self.count: int = 0
        self.before: tuple[int, int, int] = _SELDOM


_COMPILES: Final = _Compiles()


@final
class Seldom:
    """A context in which the collector runs seldom; the last one to end gives back the thresholds that were set before the first.

    A program that collects even less often, or not at all, is left alone, as is one that sets thresholds meanwhile.
    """

    def __enter__(self) -> None:
        c = _COMPILES
        with c.lock:
            if not c.count:
                c.before = gc.get_threshold()
                if 0 < c.before[0] < ALLOCATIONS:
                    gc.set_threshold(*_SELDOM)
            c.count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        c = _COMPILES
        with c.lock:
            c.count -= 1
            if not c.count and gc.get_threshold() == _SELDOM:
                gc.set_threshold(*c.before)
