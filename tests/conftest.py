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
from tests.rotation import seed, share_of

_ALL = os.environ.get("ORIAS_SELF_CHECK", "") not in ("", "0")
_EACH = 8

_run = compiler._Compiler.run


def _checked(self: "compiler._Compiler", sources: list[tuple[str, str | bytes]]) -> CompileResult:
    text = b"".join(t if isinstance(t, bytes) else t.encode("utf-8", "replace") for _, t in sources)
    self.options.verify_each = True
    if _ALL or zlib.crc32(text) % _EACH == 0:
        self.options.self_check = True
    cubin = _run(self, sources)
    hazards = [h.line() for h in check_cubin(cubin.data) if h.rule != "unknown"] if cubin.data else []
    assert not hazards, hazards
    return cubin


compiler._Compiler.run = _checked  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share", type=int, default=1, metavar="N", help="run one case in N of each wide sweep, others every day"
    )


def _build() -> str:
    """The build that is tested: ``plain`` Python or ``compiled`` by mypyc."""
    return "plain" if simplify.__file__.endswith(".py") else "compiled"


def pytest_configure(config: pytest.Config) -> None:
    """ORIAS_BUILD says which build must be tested."""
    wanted = os.environ.get("ORIAS_BUILD", _build())
    if wanted != _build():
        raise pytest.UsageError(f"ORIAS_BUILD={wanted}, but {simplify.__file__} is imported")


def pytest_report_header(config: pytest.Config) -> list[str]:
    share: int = config.getoption("--share")
    sweeps = [f"wide sweeps: one case in {share}, ORIAS_SEED={seed()}"] if share > 1 else []
    return [f"orias: {_build()}, {Path(compiler.__file__).parent}", *sweeps]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Wide sweeps keep their share. Tests with the marker ``long`` come first, so that other workers share the rest out meanwhile."""
    share: int = config.getoption("--share")
    if share > 1:
        sweeps = [item for item in items if item.get_closest_marker("sweep") is not None]
        kept = {id(item) for item in share_of(sweeps, share)}
        dropped = [item for item in sweeps if id(item) not in kept]
        gone = {id(item) for item in dropped}
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=dropped)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
