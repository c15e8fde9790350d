"""Runs the tests against mutants inside one pytest session: collected once, forked for every mutant.

Each test first runs alone, traced: which functions of the mutated packages it enters, and how long it takes.  A mutant is judged by
the tests that enter its function, the fastest first, until one fails.  The child of a fork exchanges the code of the function;
a mutant of a module's own statements, or of a function that runs at import only, needs the modules afresh, so its child drops
them and starts pytest again with the changed source.  Nothing is written into the tree.
"""

import bisect
import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import resource
import signal
import sys
import time
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from tools.mutate.mutants import Mutant

Entered = dict[str, list[str]]
"""File -> qualified names of the functions that a test enters."""

_MEMORY = 6 << 30


class Timing(NamedTuple):
    """What one test does when nothing is wrong."""

    seconds: float
    passed: bool
    entered: Entered


class Result(NamedTuple):
    """What became of one mutant: ``killed``, ``timeout`` or ``alive``, by which test, after how many seconds."""

    mutant: Mutant
    outcome: str
    test: str
    seconds: float
    tests: int
    """How many tests enter the function."""


def in_child(work: Callable[[], Any], seconds: float) -> tuple[int, Any]:
    """(exit status, result) of some work in a forked process with a limit of wall time; status -1: the limit."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.setpgid(0, 0)
            data = json.dumps(work()).encode()
            while data:
                data = data[os.write(write, data) :]
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    end = time.monotonic() + seconds
    data = b""
    os.set_blocking(read, False)
    status = None
    while status is None:
        with contextlib.suppress(BlockingIOError):
            data += os.read(read, 1 << 20)
        done, raw = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(raw)
        elif time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            status = -1
        else:
            time.sleep(0.005)
    os.set_blocking(read, True)
    with os.fdopen(read, "rb") as f:
        data += f.read() if status >= 0 else b""
    return status, json.loads(data) if status == 0 else None


class Judge:
    """A pytest plugin: instead of running the tests once it judges mutants with them."""

    def __init__(
        self,
        root: Path,
        mutants: Sequence[Mutant],
        jobs: int,
        limit: float,
        budget: float,
        told: Callable[[Result], None],
    ) -> None:
        self.root = root
        self.mutants = mutants
        self.jobs = jobs
        self.limit = limit
        self.budget = budget
        self.told = told
        self.timings: dict[str, Timing] = {}
        self.map_file: Path | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests, then judge the mutants in `jobs` processes at a time."""
        items = {i.nodeid: i for i in session.items}
        gc.collect()
        gc.freeze()
        self.measure(items)
        waiting = list(self.mutants)
        running: dict[int, tuple[int, Mutant]] = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                m = waiting.pop(0)
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.close(read)
                    os.write(write, json.dumps(self.judge(m, items)[1:]).encode())
                    os._exit(0)
                os.close(write)
                running[pid] = (read, m)
            pid, _ = os.wait()
            read, m = running.pop(pid)
            with os.fdopen(read, "rb") as f:
                self.told(Result(m, *json.loads(f.read())))
        return True

    # -- the tests as they are

    def measure(self, items: dict[str, pytest.Item]) -> None:
        """Run every test alone and traced; tests that fail or take too long are left out with a word."""
        known: dict[str, Any] = {}
        if self.map_file is not None and self.map_file.exists():
            known = json.loads(self.map_file.read_text())
        names = [n for n in items if n not in known]
        parts = [names[k :: self.jobs] for k in range(self.jobs)]
        pipes: list[tuple[int, int]] = []
        for part in parts:
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(read)
                out = {}
                for name in part:
                    status, got = in_child(lambda name=name: self.trace(items[name]), self.limit)
                    out[name] = got if status == 0 else (self.limit, False, {})
                data = json.dumps(out).encode()
                while data:
                    data = data[os.write(write, data) :]
                os._exit(0)
            os.close(write)
            pipes.append((pid, read))
        for pid, read in pipes:
            with os.fdopen(read, "rb") as f:
                known |= json.loads(f.read())
            os.waitpid(pid, 0)
        if self.map_file is not None:
            self.map_file.write_text(json.dumps(known))
        self.timings = {n: Timing(*known[n]) for n in items}
        for name, t in self.timings.items():
            if not t.passed:
                print(f"left out, it fails or takes more than {self.limit:.0f} s: {name}")

    def trace(self, item: pytest.Item) -> Timing:
        """Run one test, in a child."""
        top = str(self.root / "orias") + "/"
        seen: set[types.CodeType] = set()

        def enter(frame: types.FrameType, event: str, arg: object) -> None:
            seen.add(frame.f_code)

        sys.settrace(enter)
        begin = time.process_time()
        passed = self.passes(item)
        seconds = time.process_time() - begin
        sys.settrace(None)
        entered: Entered = {}
        for code in seen:
            if code.co_filename.startswith(top):
                file = str(Path(code.co_filename).relative_to(self.root))
                # What is inside a function belongs to it.
                entered.setdefault(file, []).append(code.co_qualname.split(".<locals>")[0])
        return Timing(seconds, passed, entered)

    @staticmethod
    def passes(item: pytest.Item) -> bool:
        """Whether a test passes."""
        reports = runtestprotocol(item, log=False, nextitem=None)
        return not any(r.failed for r in reports)

    # -- mutants

    def judge(self, m: Mutant, items: dict[str, pytest.Item]) -> Result:
        """What the tests say of a mutant."""
        users = [name for name, t in self.timings.items() if t.passed and m.path in t.entered]
        able = [name for name in users if m.function in self.timings[name].entered[m.path]]
        # A function that no test enters may run at import, like a module's own statements.
        work = self.in_place if able else self.afresh
        able = able or users
        able.sort(key=lambda n: self.timings[n].seconds)
        sums = list(itertools.accumulate(self.timings[n].seconds for n in able))
        able = able[: bisect.bisect_right(sums, self.budget)]
        begin = time.monotonic()
        outcome, test = "alive", ""
        if able:
            status, got = in_child(lambda: work(m, able, items), self.limit)
            if status == 0:
                outcome, test = got
            else:
                outcome = "timeout" if status in (-1, -signal.SIGVTALRM) else "killed"
        return Result(m, outcome, test, round(time.monotonic() - begin, 2), len(able))

    def in_place(self, m: Mutant, names: list[str], items: dict[str, pytest.Item]) -> tuple[str, str]:
        """Exchange the function's code and run the tests (in a child)."""
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        exchange(self.root, m)(True)
        for name in names:
            allowed = 5 + 20 * self.timings[name].seconds
            signal.setitimer(signal.ITIMER_VIRTUAL, allowed)
            if not self.passes(items[name]):
                return "killed", name
        return "alive", ""

    def afresh(self, m: Mutant, names: list[str], items: dict[str, pytest.Item]) -> tuple[str, str]:
        """Import everything again with the changed file, and run the tests (in a child)."""
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        with_changed_modules(self.root, m)
        first = FirstFailure()
        # Many tests: their names are too long for a table of arguments only when they are given to a program.
        pytest.main([*names, "-x", "-q", "-p", "no:cacheprovider", "-o", "addopts="], plugins=[first])
        return ("killed", first.test) if first.failed else ("alive", "")


def exchange(root: Path, m: Mutant) -> Callable[[bool], None]:
    """A function that puts the mutant's code in place (True) or takes it out again."""
    file = root / m.path
    importlib.import_module(m.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    new = _code(compile(m.apply(file.read_text(encoding="utf-8")), str(file), "exec"), m.function.split("."))
    gc.unfreeze()
    found = [
        (f, f.__code__)
        for f in gc.get_objects()
        if type(f) is types.FunctionType
        and f.__code__.co_qualname == m.function
        and f.__code__.co_filename == str(file)
    ]
    assert found, m.name

    def put(mutant: bool) -> None:
        for f, old in found:
            f.__code__ = new if mutant else old

    return put


def with_changed_modules(root: Path, m: Mutant) -> None:
    """Forget the modules of the tree, so that the next import has the mutant's source."""
    top = str(root) + "/"
    for name, module in list(sys.modules.items()):
        own = name in ("tools", "tools.mutate", "tools.mutate.mutants", "tools.mutate.run")
        if not own and str(getattr(module, "__file__", "")).startswith(top) and name != "__main__":
            del sys.modules[name]
    sys.meta_path.insert(0, _Changed(root, m))


class FirstFailure:
    """A pytest plugin that keeps the first failure, be it of an import."""

    def __init__(self) -> None:
        self.failed = False
        self.test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a failed test."""
        if report.failed and not self.failed:
            self.failed, self.test = True, report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a failed import."""
        if report.failed and not self.failed:
            self.failed, self.test = True, f"import {report.nodeid}"


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module and gives it the mutant's source."""

    def __init__(self, root: Path, m: Mutant) -> None:
        self.file = root / m.path
        self.mutant = m
        self.module = m.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """The spec of that one module."""
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(
            name, self.file, loader=_Loader(name, str(self.file), self.mutant)
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, m: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = m

    def get_code(self, fullname: str) -> types.CodeType:
        """The changed source, compiled."""
        text = Path(self.path).read_text(encoding="utf-8")
        return compile(self.mutant.apply(text), self.path, "exec")


def _code(module: types.CodeType, name: list[str]) -> types.CodeType:
    """The code of a function by its qualified name."""
    for constant in module.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name[0]:
            return constant if len(name) == 1 else _code(constant, name[1:])
    raise LookupError(name)
