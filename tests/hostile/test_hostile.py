"""Small and large hostile texts: taken or refused as said, within time and memory, never an internal error."""

import time
from collections.abc import Callable

import pytest

import orias
from tests.hostile.inputs import LARGE, SMALL, parameter_with_address

LIMIT_S = 10
CHECKED_S = 30
"""Limit for large inputs: the tests verify after every phase and check the cubin, which takes up to five times as long as the compile."""


def compiles(text: str, level: int, limit: float = LIMIT_S) -> bool:
    """True if a text compiles; the time is limited and refusals carry an error."""
    start = time.process_time()
    try:
        taken = bool(orias.compile(text, arch="sm_80", opt_level=level, compile_only=True).data)
    except orias.CompileError as e:
        assert any(d.severity in ("error", "fatal") for d in e.diagnostics)
        assert not any("Internal" in d.message for d in e.diagnostics)
        taken = False
    assert time.process_time() - start < limit
    return taken


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", SMALL)
def test_small(name: str, level: int) -> None:
    text, taken = SMALL[name]
    assert compiles(text, level) == taken


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("make", LARGE, ids=lambda f: f.__name__)
def test_large(make: Callable[[int], str]) -> None:
    """A tenth of the size here; the sweep takes the whole."""
    size, taken = LARGE[make]
    assert compiles(make(max(2, size // 10)), 3) or not taken


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("make", LARGE, ids=lambda f: f.__name__)
def test_large_whole(make: Callable[[int], str], level: int) -> None:
    size, taken = LARGE[make]
    assert compiles(make(size), level, CHECKED_S) == taken


def test_a_large_parameter_is_copied_without_spills() -> None:
    """Its words are not in registers together: a load and a store for two of them, and the access to one."""
    listing = orias.compile(parameter_with_address(400), arch="sm_80", compile_only=True).disassemble()
    assert listing.count("LDL") + listing.count("STL") == 400 + 1
