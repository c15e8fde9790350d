"""Every compile of every test is checked, and the longest test starts first.

The verifier of Ori runs after every phase, and the finished cubin goes through the hazard checker; every eighth compile (by its text)
also runs the register-allocation checker and checks control words and encoding, with ``ORIAS_SELF_CHECK=1`` in the environment every one.
"""

import os
import zlib
from pathlib import Path

import pytest

from orias import compiler
from orias.check import check_cubin
from orias.output.result import CompileResult
from orias.passes import simplify
from tests.builds import COMPILED
from tests.rotation import half_of, not_today, seed, share_of

_ALL = os.environ.get("ORIAS_SELF_CHECK", "") not in ("", "0")
_EACH = 8

_run = compiler.Compiler.run


def _checked(self: "compiler.Compiler", sources: list[tuple[str, str | bytes]]) -> CompileResult:
    text = b"".join(t if isinstance(t, bytes) else t.encode("utf-8", "replace") for _, t in sources)
    self.options.verify_each = True
    if _ALL or zlib.crc32(text) % _EACH == 0:
        self.options.self_check = True
    cubin = _run(self, sources)
    hazards = [h.line() for h in check_cubin(cubin.data) if h.rule != "unknown"] if cubin.data else []
    assert not hazards, hazards
    return cubin


compiler.Compiler.run = _checked  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share", type=int, default=1, metavar="N", help="run one case in N of each wide sweep, others every day"
    )
    parser.addoption(
        "--half", type=int, choices=(0, 1), help="run every second test file, from the first or the second"
    )


def _build() -> str:
    """The build that is tested: ``plain`` Python or ``compiled`` by mypyc."""
    return "compiled" if COMPILED else "plain"


def pytest_configure(config: pytest.Config) -> None:
    """ORIAS_BUILD says which build must be tested; all processes of a run have the seed of its start, also past midnight."""
    os.environ["ORIAS_SEED"] = str(seed())
    wanted = os.environ.get("ORIAS_BUILD", _build())
    if wanted != _build():
        raise pytest.UsageError(f"ORIAS_BUILD={wanted}, but {simplify.__file__} is imported")


def pytest_report_header(config: pytest.Config) -> list[str]:
    share: int = config.getoption("--share")
    sweeps = [f"wide sweeps: one case in {share}"] if share > 1 else []
    return [f"orias: {_build()}, {Path(compiler.__file__).parent}", f"ORIAS_SEED={seed()}", *sweeps]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A run with failures says how its samples can be had again."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"samples of this run: ORIAS_SEED={seed()}")


def _drop(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    """Leaves these items."""
    keep = {id(item) for item in kept}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in keep])
    items[:] = [item for item in items if id(item) in keep]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases whose turn is another day belong to the sweep, unless tests are named; wide sweeps keep their share.

    Tests with the marker ``long`` come first, so that other workers share the rest out meanwhile.
    """
    if not any("::" in a for a in config.args):
        for item in not_today([i for i in items if i.get_closest_marker("sweep") is None]):
            item.add_marker(pytest.mark.sweep)
    half: int | None = config.getoption("--half")
    if half is not None:
        _drop(config, items, half_of(items, half))
    share: int = config.getoption("--share")
    if share > 1:
        sweeps = [item for item in items if item.get_closest_marker("sweep") is not None]
        kept = {id(item) for item in share_of(sweeps, share)}
        _drop(config, items, [i for i in items if i.get_closest_marker("sweep") is None or id(i) in kept])
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
