"""What runs today: wide sweeps in shares, cases in turn, halves of the test files; every case has its day."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import rotation
from tests.rotation import WIDE, half_of, not_today, share_of


def cases(name: str, count: int, days: int = 0) -> list[Any]:
    """Cases of a test function, with the marker in_turn if `days` are given."""
    turn = pytest.mark.in_turn(days).mark if days else None
    return [
        SimpleNamespace(nodeid=f"tests/test_a.py::{name}[{k}]", get_closest_marker=lambda _: turn) for k in range(count)
    ]


def test_a_share_is_a_part_of_wide_sweeps_and_narrow_ones_whole() -> None:
    wide, narrow = cases("wide", 100), cases("narrow", WIDE)
    kept = share_of(wide + narrow, 3)
    assert [k for k in kept if k in narrow] != [] and all(n in kept for n in narrow)
    assert len(kept) == 34 + WIDE


def test_every_case_has_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = cases("wide", 60)
    seen = set()
    for day in range(30):
        monkeypatch.setattr(rotation, "seed", lambda day=day: day)
        seen |= {c.nodeid for c in share_of(wide, 3)}
    assert len(seen) == 60


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_cases_in_turn_have_one_day_each(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    turns, always = cases("turns", count, 3), cases("always", 5)
    seen: list[str] = []
    for day in range(20_000, 20_003):
        monkeypatch.setattr(rotation, "seed", lambda day=day: day)
        left = {c.nodeid for c in not_today(turns + always)}
        assert not left & {c.nodeid for c in always}
        today = [c.nodeid for c in turns if c.nodeid not in left]
        assert count // 3 <= len(today) <= -(-count // 3)
        seen += today
    assert sorted(seen) == sorted(c.nodeid for c in turns)


def test_halves_are_whole_files_of_every_directory() -> None:
    names = [f"tests/{d}/test_{f}.py::test_{k}" for d in "ab" for f in "xyz" for k in range(2)]
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    first, second = ([i.nodeid for i in half_of(items, k)] for k in (0, 1))
    assert sorted(first + second) == sorted(names)
    assert {n.partition("::")[0][6:] for n in second} == {"a/test_y.py", "b/test_y.py"}
