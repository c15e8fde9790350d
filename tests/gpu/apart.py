"""Work on the GPU in processes of their own: after a fault or a hang nothing else of that process can use the GPU."""

import functools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple

from tests.device import load, on
from tests.forms.items import Item
from tests.gpu.driver import Driver, DriverError, load_driver
from tests.gpu.image import device
from tests.gpu.modules import compiled, modules

_FAULTS: Final = 100
"""Faults of a family after which the rest is left out."""
_LATE: Final = 60.0
"""Seconds between two rows of a process."""
_SECONDS: Final = 4.0
"""A kernel that runs longer counts as hanging."""

Work = Callable[[Driver], Iterator[Any]]


def rows(work: Work, seconds: float = _SECONDS) -> Iterator[Any]:
    """What `work` yields in a child with a driver of its own; DriverError with the reason if it ends early.

    This process must not have used the driver: its state does not survive a fork.
    """
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(False)
    child = fork.Process(target=_run, args=(work, seconds, send))
    child.start()
    send.close()
    try:
        while True:
            if not receive.poll(_LATE):
                raise DriverError(f"no end after {_LATE:.0f} s")
            try:
                kind, row = receive.recv()
            except EOFError:
                raise DriverError(f"the process ended with {child.exitcode}") from None
            if kind == "end":
                return
            if kind == "error":
                raise DriverError(row)
            yield row
    finally:
        child.kill()
        child.join()


def _run(work: Work, seconds: float, send: Connection) -> None:
    try:
        driver = load_driver()
        driver.seconds = seconds
        for row in work(driver):
            send.send(("row", row))
        send.send(("end", None))
    except BaseException as e:
        send.send(("error", f"{type(e).__name__}: {e}"))
    os._exit(0)


class Gpu(NamedTuple):
    """What GPU 0 is."""

    name: str
    arch: str
    version: int


def gpu() -> Gpu:
    """GPU 0; DriverError if there is none."""
    return next(rows(lambda driver: iter([Gpu(driver.name(), driver.arch, driver.version())])))


class _Program(NamedTuple):
    """A program with its cubin and the kernel in it."""

    item: Item
    level: int
    cubin: bytes
    kernel: str


def _programs(pool: Executor, family: str, compiler: str, arch: str) -> Iterator[_Program | str]:
    """The programs of a family; a text for one that does not compile."""
    for module, cubin in compiled(pool, modules(family, compiler, arch), compiler, arch):
        if isinstance(cubin, str):
            yield f"{module.items[0].name} -O{module.level}: {cubin}"
        else:
            for n, item in enumerate(module.items):
                yield _Program(item, module.level, cubin, f"k{n}")


def checked(driver: Driver, programs: list[_Program]) -> Iterator[str]:
    """What is wrong with each program; a fault raises DriverError."""
    cubin, image = b"", None
    with on(device(driver)):
        for p in programs:
            if p.cubin is not cubin:
                cubin, image = p.cubin, load(p.cubin)
            yield p.item.check(image, p.kernel)


def failures(pool: Executor, family: str, compiler: str, arch: str, until: float = float("inf")) -> list[str]:
    """What is wrong with the programs of a family on GPU 0.  ``until``: a time (``time.monotonic``) after which no more of them run."""
    bad: list[str] = []
    programs: list[_Program] = []
    for p in _programs(pool, family, compiler, arch):
        if isinstance(p, str):
            bad.append(p)
        else:
            programs.append(p)
    at = faults = 0
    while at < len(programs):
        if faults > _FAULTS or time.monotonic() > until:
            return [*bad, f"{len(programs) - at} programs left out after {faults} faults"]
        try:
            for wrong in rows(functools.partial(checked, programs=programs[at:])):
                if wrong:
                    bad.append(f"{programs[at].item.name} -O{programs[at].level}: {wrong}")
                at += 1
        except DriverError as e:
            bad.append(f"{programs[at].item.name} -O{programs[at].level}: {e}")
            at += 1
            faults += 1
    return bad
