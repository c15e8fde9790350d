"""Wide sweeps in shares: every case is run by some day, narrow sweeps whole every day."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import rotation
from tests.rotation import WIDE, share_of


def cases(name: str, count: int) -> list[Any]:
    return [SimpleNamespace(nodeid=f"tests/test_a.py::{name}[{k}]") for k in range(count)]


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
