"""The plugin of pytest: ``pytest --orias`` runs tests whose GPU is the simulator (docs/running.md).

pytest loads this module wherever Orias is installed; what does the work is imported when ``--orias`` is given.
"""

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from orias.driver.timeline import LaunchRecord

_MAJOR, _MINOR = 75, 76


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("orias", "a simulated GPU")
    add = group.addoption
    add("--orias", action="store_true", help="the GPU of the tests is Orias's simulator")
    add("--orias-device", metavar="NAME", default="", help="H100 (default), A100, RTX4090, B200 or RTX5090")
    add(
        "--orias-check",
        metavar="TOOLS",
        default="",
        help="memcheck, racecheck, initcheck, synccheck or hazards, with commas; what they find fails the test",
    )
    add(
        "--orias-report", action="store_true", help="launches, instructions and modelled time of each kernel at the end"
    )


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Puts the driver library in place before tests and conftest files are imported."""
    given = early_config.known_args_namespace
    if given.orias:
        from orias.clients.pytest_session import start

        start(given.orias_device, given.orias_check)


def pytest_configure(config: pytest.Config) -> None:
    """The markers."""
    for line in (
        "orias_device(sm=0): needs a GPU, of this compute capability (90) or later; skipped without one",
        "orias_budget(kernel, cycles=0, instructions=0): with --orias, no launch of the kernel may take more (name with * and ?)",
    ):
        config.addinivalue_line("markers", line)
    if config.getoption("orias"):
        from orias.clients.pytest_session import Session

        config.pluginmanager.register(Session(config), "orias-session")
    elif config.getoption("orias_check") or config.getoption("orias_device") or config.getoption("orias_report"):
        raise pytest.UsageError("--orias-device, --orias-check and --orias-report need --orias")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose device is not there."""
    for mark in item.iter_markers("orias_device"):
        wanted = int(mark.kwargs.get("sm", mark.args[0] if mark.args else 0))
        found = _capability()
        if not found:
            pytest.skip("no GPU (pytest --orias simulates one)")
        if found < wanted:
            pytest.skip(f"needs sm_{wanted}, the device is sm_{found}")


def _capability() -> int:
    """Compute capability of the first device as one number (90); 0 without a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    if driver.cuInit(0):
        return 0
    parts = []
    for number in (_MAJOR, _MINOR):
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, 0):
            return 0
        parts.append(value.value)
    return 10 * parts[0] + parts[1]


@pytest.fixture
def orias_launches(request: pytest.FixtureRequest) -> "Iterator[list[LaunchRecord]]":
    """The launches of this test so far, with instructions and cycles; skips without ``--orias``."""
    session = request.config.pluginmanager.get_plugin("orias-session")
    if session is None:
        pytest.skip("needs pytest --orias")
    yield session.launches
