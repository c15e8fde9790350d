"""Compile many sources over an executor; what goes wrong with one source stays with that source."""

import faulthandler
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import NamedTuple

from orias.api import Cubin, compile_sources
from orias.options import Options
from orias.spread import WorkerDied, spread

Source = str | bytes | os.PathLike[str] | tuple[str, str | bytes]
"""PTX text, the path of a file, or a name with a text."""


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


class _Task(NamedTuple):
    """One compile, as it travels to a worker; ``source`` None: the file of that name."""

    name: str
    source: str | bytes | None
    options: Options
    timeout: float


def compile_one(task: _Task) -> Outcome:
    """Compile one source where a worker runs; never raises.

    A timeout > 0 ends the process after that many seconds: only for workers of an own pool.
    """
    start = time.perf_counter()
    if task.timeout:
        faulthandler.dump_traceback_later(task.timeout, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115
    try:
        source = task.source
        if source is None:
            with open(task.name, "rb") as f:
                source = f.read()
        cubin = compile_sources([(task.name, source)], task.options)
        cubin.source = None
        return Outcome(task.name, cubin, None, time.perf_counter() - start)
    except Exception as e:
        return Outcome(task.name, None, e, time.perf_counter() - start)
    finally:
        if task.timeout:
            faulthandler.cancel_dump_traceback_later()


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
    settings = _options(arch, opt_level, options)
    tasks = [_Task(*_job(i, s), settings, timeout) for i, s in enumerate(sources)]
    workers = max(1, min(jobs or os.cpu_count() or 1, len(tasks)))
    results: dict[int, Outcome] = {}
    for i, result in spread(compile_one, tasks, jobs=workers, executor=executor):
        if isinstance(result, WorkerDied):
            result = WorkerDied(f"the process that compiled {tasks[i].name} ended without an answer")
        outcome = Outcome(tasks[i].name, None, result, 0.0) if isinstance(result, Exception) else result
        results[i] = outcome
        if progress is not None:
            progress(len(results), len(tasks), outcome)
    return [results[i] for i in range(len(tasks))]


def _job(i: int, source: Source) -> tuple[str, str | bytes | None]:
    """Name and text of a source; no text for a file, which the worker reads."""
    if isinstance(source, tuple):
        return source
    if isinstance(source, os.PathLike):
        return os.fspath(source), None
    if isinstance(source, bytes):
        return f"<ptx {i}>", source
    return (f"<ptx {i}>", source) if "\n" in source else (source, None)
