"""Samples that change from day to day, so that sweeps of bounded length see everything in time."""

import os
import random
import time
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def seed() -> int:
    """The day's number, or what ORIAS_SEED says (to repeat a failure: a run with failures prints it)."""
    return int(os.environ.get("ORIAS_SEED", int(time.time()) // 86400))


def rotating(things: Sequence[T], count: int, name: str) -> list[T]:
    """`count` of the things, others every day and for every name."""
    return random.Random(f"{seed()} {name}").sample(list(things), min(count, len(things)))


WIDE = 2
"""A sweep with more cases than this is wide: its cases can be shared out over days."""


def share_of(items: Sequence[pytest.Item], share: int) -> list[pytest.Item]:
    """The cases of sweeps to run today: one in `share` (rounded up) of each test function with more than WIDE cases, every case of the others."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out: list[pytest.Item] = []
    for name, cases in functions.items():
        count = -(-len(cases) // share) if len(cases) > WIDE else len(cases)
        out += random.Random(f"{seed()} {name}").sample(cases, count)
    return out


def not_today(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Cases with the marker ``in_turn(days)`` whose day it is not: each has one day in that many, and every day has its part of a test's cases."""
    functions: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        turn = item.get_closest_marker("in_turn")
        if turn is not None:
            functions.setdefault((item.nodeid.partition("[")[0], turn.args[0]), []).append(item)
    out: list[pytest.Item] = []
    for (name, days), cases in functions.items():
        order = random.Random(name).sample(cases, len(cases))
        out += [item for k, item in enumerate(order) if (k + zlib.crc32(name.encode()) + seed()) % days]
    return out


def half_of(items: Sequence[pytest.Item], half: int) -> list[pytest.Item]:
    """The items of one half of the test files, 0 or 1: every second file of each directory."""
    files: dict[str, set[str]] = {}
    for item in items:
        path = item.nodeid.partition("::")[0]
        files.setdefault(path.rpartition("/")[0], set()).add(path)
    kept = {path for paths in files.values() for path in sorted(paths)[half::2]}
    return [item for item in items if item.nodeid.partition("::")[0] in kept]


LATER = ("sm_100a", "sm_103a", "sm_110a", "sm_120a")
"""A target of each of the four instruction sets after sm_90."""


def some_later(name: str, count: int = 1) -> list[str]:
    """Targets of LATER for a sweep, others every day and for every name."""
    return rotating(LATER, count, name)


def with_later(arches: Sequence[str], name: str) -> list[Any]:
    """Values of a test's parameter: the targets, and two of LATER: one by default (another for every name), one in the sweep (another every day)."""
    first = LATER[zlib.crc32(name.encode()) % len(LATER)]
    other = rotating([a for a in LATER if a != first], 1, name)[0]
    return [*arches, first, pytest.param(other, marks=pytest.mark.sweep)]


def for_each(names: Sequence[str], arches: Sequence[str]) -> list[Any]:
    """Values of the parameters name and arch: every name with :func:`with_later`."""
    out = []
    for name in names:
        for a in with_later(arches, name):
            arch, marks = (a.values[0], a.marks) if isinstance(a, type(pytest.param())) else (a, ())
            out.append(pytest.param(name, arch, marks=marks))
    return out


def with_level(params: Sequence[Any]) -> list[Any]:
    """Values of a test's parameters and a level: by default every second one at 0 and the others at 3; the other level in the sweep."""
    out = []
    for k, p in enumerate(params):
        values, marks = (p.values, p.marks) if isinstance(p, type(pytest.param())) else (p, ())
        first = 3 if k % 2 else 0
        out.append(pytest.param(*values, first, marks=marks))
        out.append(pytest.param(*values, 3 - first, marks=(*marks, pytest.mark.sweep)))
    return out
