"""One function over many tasks, in processes or over any executor; what goes wrong with one task stays with that task.

Without an executor of the caller's, a pool of processes does the work.  If a worker of it dies, the tasks that it may have died
of are done again, each in a process of its own, so that only the guilty ones have no result.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Tasks under way for each process of an own pool: one runs, one waits, and few are in doubt when a worker dies."""


class WorkerDied(Exception):
    """The process that did a task ended without an answer: it crashed, was killed, or ran past its time."""


class NoCluster(Exception):
    """Dask is not installed, or no scheduler answers at the address."""


def once(function: Callable[[T], R], task: T) -> R:
    """Do a task where a worker runs."""
    return function(task)


def once_more(function: Callable[[T], R], task: T) -> R:
    """`once` under another name: an executor that keeps results by function and arguments (Dask) does the task anew."""
    return function(task)


def spread(
    function: Callable[[T], R],
    tasks: Iterable[T],
    *,
    jobs: int,
    executor: Executor | None = None,
    ahead: int = 0,
) -> Iterator[tuple[int, R | Exception]]:
    """Do every task; yields its number (from 0) and its result, or the error of the executor, in the order in which they end.

    ``function`` and the tasks travel to the workers by pickle; an error that a task may end in is a part of its result: what
    ``function`` raises counts as a loss of the executor.  ``jobs``: processes of the own pool.  ``executor``: any executor of
    `concurrent.futures` instead.  ``ahead``: tasks that are under way at a time over an executor (0: all of them); tasks are taken
    when they are given out, so that an endless iterable ends when it likes.
    """
    if executor is not None:
        yield from _Over(function, executor, ahead).run(iter(tasks))
    else:
        yield from _InProcesses(function, jobs).run(iter(tasks))


@contextmanager
def cluster(address: str, patience: float = 10) -> Iterator[Executor]:
    """The executor of the Dask cluster whose scheduler is at `address`; NoCluster if there is none after `patience` seconds."""
    try:
        from distributed import Client
    except ImportError as e:
        raise NoCluster(f"a cluster needs Dask (pip install 'orias[cluster]'): {e}") from None
    try:
        client = Client(address, timeout=patience)
    except (OSError, ValueError) as e:
        raise NoCluster(f"there is no scheduler at {address}: {e}") from None
    with client, client.get_executor() as executor:
        yield executor


class _Over(Generic[T, R]):
    """The caller's executor.  If it breaks, what it has not answered gets its error.

    A task that the executor lost, as a cluster loses what was on a worker that died, gets a second try when nothing else is under
    way: it may have been beside the one that the worker died of.
    """

    def __init__(self, function: Callable[[T], R], executor: Executor, ahead: int) -> None:
        self.function = function
        self.executor = executor
        self.ahead = ahead

    def run(self, tasks: Iterator[T]) -> Iterator[tuple[int, R | Exception]]:
        futures: dict[Future[R], tuple[int, T]] = {}
        lost: list[tuple[int, T]] = []
        number = 0
        more = True
        while more or futures:
            while more and (not self.ahead or len(futures) < self.ahead):
                task = next(tasks, _END)
                if isinstance(task, _End):
                    more = False
                    break
                try:
                    futures[self.executor.submit(once, self.function, task)] = number, task
                except BrokenExecutor as e:
                    yield number, e
                number += 1
            done = {f for f in futures if f.done()} or (
                wait(futures, return_when=FIRST_COMPLETED).done if futures else set()
            )
            for f in done:
                one, task = futures.pop(f)
                try:
                    result = f.result()
                except BrokenExecutor as e:
                    yield one, e
                except Exception:
                    lost.append((one, task))
                else:
                    yield one, result
        for one, task in sorted(lost, key=lambda x: x[0]):
            try:
                result = self.executor.submit(once_more, self.function, task).result()
            except Exception as e:
                yield one, e
            else:
                yield one, result


class _InProcesses(Generic[T, R]):
    """Own pools, one after another until everything has a result."""

    def __init__(self, function: Callable[[T], R], jobs: int) -> None:
        self.function = function
        self.jobs = jobs

    def run(self, tasks: Iterator[T]) -> Iterator[tuple[int, R | Exception]]:
        number = 0
        more = True
        while more:
            futures: dict[Future[R], tuple[int, T]] = {}
            waiting: tuple[int, T] | None = None
            with ProcessPoolExecutor(self.jobs) as pool:
                try:
                    while more or futures:
                        while more and len(futures) < _AHEAD * self.jobs:
                            task = next(tasks, _END)
                            if isinstance(task, _End):
                                more = False
                                break
                            waiting = number, task
                            number += 1
                            futures[pool.submit(once, self.function, task)] = waiting
                            waiting = None
                        for f in wait(futures, return_when=FIRST_COMPLETED).done if futures else ():
                            result = _result(f)
                            one, _ = futures.pop(f)
                            yield one, result
                except BrokenExecutor:
                    pass
            for one, task in [*futures.values(), *([waiting] if waiting else [])]:
                yield one, self.alone(task)

    def alone(self, task: T) -> R | Exception:
        """Do one task in a process of its own."""
        with ProcessPoolExecutor(1) as pool:
            try:
                return _result(pool.submit(once, self.function, task))
            except BrokenExecutor:
                return WorkerDied("the process ended without an answer")


def _result(f: Future[R]) -> R | Exception:
    """The result of a future, or its error; raises BrokenExecutor."""
    try:
        return f.result()
    except BrokenExecutor:
        raise
    except Exception as e:
        return e


class _End:
    """No more tasks."""


_END = _End()
