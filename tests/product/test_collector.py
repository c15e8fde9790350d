"""The cyclic collector runs seldom during a compile, and as before after it."""

import gc
from collections.abc import Iterator

import pytest

from orias.collector import ALLOCATIONS, Seldom
from orias.compiler import compile_text
from orias.options import Options

KERNEL = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n"


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_thresholds_are_given_back() -> None:
    with Seldom():
        assert gc.get_threshold()[0] == ALLOCATIONS
        with Seldom():
            pass
        assert gc.get_threshold()[0] == ALLOCATIONS
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(ValueError, match="stop"), Seldom():
        raise ValueError("stop")
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (ALLOCATIONS + 1, 10, 10)])
def test_a_program_that_collects_less_often_is_left_alone(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with Seldom():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_thresholds_that_are_set_meanwhile_stay() -> None:
    with Seldom():
        gc.set_threshold(900, 10, 10)
    assert gc.get_threshold() == (900, 10, 10)


def test_a_compile_collects_seldom() -> None:
    seen: list[int] = []
    compile_text([("k", KERNEL)], Options("sm_90"), lambda phase, fn: seen.append(gc.get_threshold()[0]))
    assert seen
    assert set(seen) == {ALLOCATIONS}
    assert gc.get_threshold() == (700, 10, 10)
