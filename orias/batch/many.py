"""Compile many sources over an executor; what goes wrong with one source stays with that source.

Without an executor of the caller's, a pool of processes does the work.  If a worker of it dies, the sources that it may
have died of are compiled again, each in a process of its own, so that only the guilty ones have no result.
"""

import faulthandler
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from typing import NamedTuple

from orias.api import Cubin, compile_sources
from orias.options import Options

Source = str | bytes | os.PathLike[str] | tuple[str, str | bytes]
"""PTX text, the path of a file, or a name with a text."""


class WorkerDied(Exception):
    """The process that compiled a source ended without an answer: it crashed, was killed, or ran past its time."""


class Outcome(NamedTuple):
    """What became of one source: a cubin, or the exception; ``seconds`` is the time of the compile itself."""

    name: str
    cubin: Cubin | None
    error: Exception | None
    seconds: float

    @property
    def ok(self) -> bool:
        """True if there is a cubin."""
        return self.cubin is not None


def _options(arch: str, opt_level: int, settings: dict[str, object]) -> Options:
    out = Options(arch, opt_level)
    out.take("compile_many", settings)
    return out


def compile_one(name: str, source: str | bytes | None, options: Options, timeout: float = 0) -> Outcome:
    """Compile one source (None: the file of that name) where a worker runs; never raises.

    ``timeout`` > 0 ends the process after that many seconds: only for workers of this module's own.
    """
    start = time.perf_counter()
    if timeout:
        faulthandler.dump_traceback_later(timeout, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115
    try:
        if source is None:
            with open(name, "rb") as f:
                source = f.read()
        cubin = compile_sources([(name, source)], options)
        cubin.source = None
        return Outcome(name, cubin, None, time.perf_counter() - start)
    except Exception as e:
        return Outcome(name, None, e, time.perf_counter() - start)
    finally:
        if timeout:
            faulthandler.cancel_dump_traceback_later()


def compile_again(name: str, source: str | bytes | None, options: Options, timeout: float = 0) -> Outcome:
    """`compile_one` under another name: an executor that keeps results by function and arguments (Dask) runs it anew."""
    return compile_one(name, source, options, timeout)


class _Work:
    """The state of one call: results by index, and what is left to do."""

    def __init__(
        self,
        jobs: list[tuple[str, str | bytes | None]],
        options: Options,
        timeout: float,
        progress: Callable[[int, int, Outcome], None] | None,
    ) -> None:
        self.jobs = jobs
        self.options = options
        self.timeout = timeout
        self.progress = progress
        self.results: dict[int, Outcome] = {}

    def submit(self, executor: Executor, i: int) -> "Future[Outcome]":
        name, source = self.jobs[i]
        return executor.submit(compile_one, name, source, self.options, self.timeout)

    def put(self, i: int, outcome: Outcome) -> None:
        self.results[i] = outcome
        if self.progress is not None:
            self.progress(len(self.results), len(self.jobs), outcome)

    def take(self, i: int, future: "Future[Outcome]") -> None:
        """Enter the result of a future; an executor's own error becomes that source's."""
        try:
            self.put(i, future.result())
        except BrokenExecutor:
            raise
        except Exception as e:
            self.put(i, Outcome(self.jobs[i][0], None, e, 0.0))

    def alone(self, i: int) -> None:
        """Compile one source in a process of its own."""
        start = time.perf_counter()
        with ProcessPoolExecutor(1) as pool:
            try:
                self.take(i, self.submit(pool, i))
            except BrokenExecutor:
                seconds = time.perf_counter() - start
                error = WorkerDied(f"the process that compiled {self.jobs[i][0]} ended without an answer")
                self.put(i, Outcome(self.jobs[i][0], None, error, seconds))

    def over(self, executor: Executor) -> None:
        """Use the caller's executor; if it breaks, what it has not answered gets its error.

        A source that the executor lost, as a cluster loses what was on a worker that died, gets a second try when nothing
        else is under way: it may have been beside the one that the worker died of.
        """
        futures: dict[Future[Outcome], int] = {}
        for i in range(len(self.jobs)):
            try:
                futures[self.submit(executor, i)] = i
            except BrokenExecutor as e:
                self.put(i, Outcome(self.jobs[i][0], None, e, 0.0))
        waiting = set(futures)
        lost: list[int] = []
        while waiting:
            done = {f for f in waiting if f.done()} or wait(waiting, return_when=FIRST_COMPLETED).done
            waiting -= done
            for f in done:
                i = futures[f]
                try:
                    self.put(i, f.result())
                except BrokenExecutor as e:
                    self.put(i, Outcome(self.jobs[i][0], None, e, 0.0))
                except Exception:
                    lost.append(i)
        for i in sorted(lost):
            try:
                name, source = self.jobs[i]
                self.take(i, executor.submit(compile_again, name, source, self.options, self.timeout))
            except BrokenExecutor as e:
                self.put(i, Outcome(self.jobs[i][0], None, e, 0.0))

    def in_processes(self, workers: int) -> None:
        """Use own pools until everything has a result; at most two sources a worker are under way."""
        left = list(range(len(self.jobs) - 1, -1, -1))
        while left:
            futures: dict[Future[Outcome], int] = {}
            with ProcessPoolExecutor(workers) as pool:
                try:
                    while left or futures:
                        while left and len(futures) < 2 * workers:
                            futures[self.submit(pool, left[-1])] = left[-1]
                            left.pop()
                        for f in wait(futures, return_when=FIRST_COMPLETED).done:
                            self.take(futures[f], f)
                            del futures[f]
                except BrokenExecutor:
                    pass
            for i in futures.values():
                if i not in self.results:
                    self.alone(i)


def compile_many(
    sources: Iterable[Source],
    *,
    arch: str = "",
    opt_level: int = 3,
    executor: Executor | None = None,
    jobs: int | None = None,
    timeout: float = 0,
    progress: Callable[[int, int, Outcome], None] | None = None,
    **options: object,
) -> list[Outcome]:
    """Compile every source; the outcomes stand in the order of the sources, and no source can spoil another's.

    ``sources``: PTX texts, paths, or (name, text).  A text without a line break is a path.  ``arch``: without it,
    each source is compiled for the target that it names.  ``executor``: any executor
    of `concurrent.futures` (processes, threads, ``distributed.Client.get_executor()``); by default ``jobs`` processes
    (the number of CPUs).  ``timeout``: seconds for one source, in own processes only; a source that takes longer has
    the error `WorkerDied`.  ``progress``: called after each source with the number done, the number of all, and the
    outcome.  ``options``: as for `orias.compile`.  Raises TypeError or ValueError for wrong arguments, nothing else.
    """
    if timeout and executor is not None:
        raise ValueError("timeout needs processes of compile_many's own: leave the executor out")
    work = _Work([_job(i, s) for i, s in enumerate(sources)], _options(arch, opt_level, options), timeout, progress)
    if executor is not None:
        work.over(executor)
    else:
        work.in_processes(max(1, min(jobs or os.cpu_count() or 1, len(work.jobs))))
    return [work.results[i] for i in range(len(work.jobs))]


def _job(i: int, source: Source) -> tuple[str, str | bytes | None]:
    """Name and text of a source; no text for a file, which the worker reads."""
    if isinstance(source, tuple):
        return source
    if isinstance(source, os.PathLike):
        return os.fspath(source), None
    if isinstance(source, bytes):
        return f"<ptx {i}>", source
    return (f"<ptx {i}>", source) if "\n" in source else (source, None)
