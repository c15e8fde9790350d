"""A run of ``pytest --orias``: the driver library in this process, launches and findings of each test, budgets, the report."""

import ctypes
import os
from collections.abc import Generator
from typing import Any, Final

import pytest

from orias.cli.exec_command import settings
from orias.cli.toolerror import ToolError
from orias.driver.driver_state import Context, Driver
from orias.driver.results import NAMES
from orias.driver.timeline import LaunchRecord, Timeline, Totals, matching, merge, table

_LIBRARIES: Final = ("libcuda.so.1", "libcudart.so.12", "libcudart.so.13")
_LINES: Final = 12
"""Lines of findings that a failed test shows."""


def start(device: str, tools: str) -> None:
    """Loads the driver library into this process, for all that asks for one by name; UsageError where it cannot be."""
    given = dict(os.environ)
    if device:
        given["ORIAS_DEVICE"] = device
    if tools:
        given["ORIAS_TOOL"] = tools
    if "PYTEST_XDIST_WORKER" in given:
        # The other cores have tests of their own.
        given.setdefault("ORIAS_CORES", "1")
    try:
        changed = settings(given)
    except ToolError as e:
        raise pytest.UsageError(f"--orias: {e}") from None
    place = changed["LD_LIBRARY_PATH"].split(":")[0]
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
        loaded = {line.split()[-1] for line in f if "/libcuda.so" in line}
    if any(not path.startswith(f"{place}/") for path in loaded):
        raise pytest.UsageError(f"--orias: {min(loaded)} is loaded already, by another plugin")
    # Of a library that is loaded, the loader knows the name: later look-ups by name find it.  Child processes get the path.
    for name in _LIBRARIES:
        ctypes.CDLL(os.path.join(place, name), mode=ctypes.RTLD_GLOBAL)
    os.environ.update(changed)


class Session:
    """The hooks of a run."""

    def __init__(self, config: pytest.Config) -> None:
        self.launches: Final[list[LaunchRecord]] = []
        """The launches of the test that runs."""
        self._timeline: Final = Timeline.shared()
        self._timeline.listener = self.launches
        self._report: Final[bool] = config.getoption("orias_report")
        self._timeline.modelled = self._report
        self._tools: Final = os.environ.get("ORIAS_TOOL", "").split(",")
        self._elsewhere: Totals = {}
        """Kernels of other processes (pytest-xdist)."""
        self._known = 0
        """Findings of the tests before."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before a test."""
        self.launches.clear()
        self._known = len(self._findings())
        cycles = any(_budget(mark)[1] for mark in item.iter_markers("orias_budget"))
        asked = self._report or cycles or "orias_launches" in getattr(item, "fixturenames", ())
        self._timeline.modelled = self._timeline.modelled or asked

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Fails a test that passed, if its kernels did not."""
        yield
        self._check()
        for mark in item.iter_markers("orias_budget"):
            self._keep(*_budget(mark))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """After a test: what its teardown ran is checked too, and the error of a kernel ends with its test."""
        self._known = len(self._findings())
        try:
            yield
            self._check()
        finally:
            for context in _contexts():
                context.error, context.reported = 0, True

    def _findings(self) -> list[Any]:
        """What the chosen tools have found in this process."""
        driver = Driver.of_process
        found = [] if driver is None or driver.sanitizer is None else driver.sanitizer.findings
        return [f for f in found if f.tool in self._tools]

    def _check(self) -> None:
        """Fails for new findings of the tools, and for an error of a kernel that no call has returned."""
        found = self._findings()[self._known :]
        self._known += len(found)
        silent = [c.error for c in _contexts() if c.error and not c.reported]
        for context in _contexts():
            context.reported = True
        if found:
            lines = [line for f in found for line in f.lines()]
            more = [f"... and {len(lines) - _LINES} lines more"] if len(lines) > _LINES else []
            pytest.fail("\n".join(lines[:_LINES] + more), pytrace=False)
        if silent:
            pytest.fail(f"a kernel failed with {NAMES[silent[0]]}, and the test did not ask for it", pytrace=False)

    def _keep(self, kernel: str, cycles: int, instructions: int) -> None:
        """Fails if a launch of a kernel took more than its budget."""
        found = matching(self.launches, kernel)
        if not found:
            names = ", ".join(sorted({r.kernel for r in self.launches})) or "none"
            pytest.fail(f"orias_budget: {kernel} was not launched; launched: {names}", pytrace=False)
        for what, most, used in (
            ("cycles", cycles, max(r.cycles for r in found)),
            ("instructions", instructions, max(r.instructions for r in found)),
        ):
            if most and not used:
                pytest.fail(f"orias_budget: the {what} of {kernel} are not known", pytrace=False)
            if most and used > most:
                pytest.fail(f"orias_budget: {kernel} took {used} {what}, the budget is {most}", pytrace=False)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hands what a worker of pytest-xdist ran to the process that reports it."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["orias"] = {name: list(total) for name, total in self._timeline.totals.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist ended."""
        for name, total in getattr(node, "workeroutput", {}).get("orias", {}).items():
            merge(self._elsewhere, name, *total)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The report."""
        if not self._report:
            return
        for name, total in self._timeline.totals.items():
            merge(self._elsewhere, name, *total)
        terminalreporter.section("orias: kernels")
        for line in table(self._elsewhere) or ["no kernel was launched"]:
            terminalreporter.write_line(line)


def _budget(mark: pytest.Mark) -> tuple[str, int, int]:
    """Kernel, cycles and instructions of a marker; fails for a wrong one."""
    if len(mark.args) != 1 or not mark.kwargs or set(mark.kwargs) - {"cycles", "instructions"}:
        pytest.fail("orias_budget(kernel, cycles=N, instructions=N): a kernel and one or both numbers", pytrace=False)
    return str(mark.args[0]), int(mark.kwargs.get("cycles", 0)), int(mark.kwargs.get("instructions", 0))


def _contexts() -> list[Context]:
    driver = Driver.of_process
    return [] if driver is None else [c for c in driver.handles.values() if isinstance(c, Context)]
