"""The table of measured distances (``data/minimum.txt``)."""

import os
from typing import Final, final

_DATA: Final = os.path.join(os.path.dirname(__file__), "data", "minimum.txt")


_SHORTEST: Final = 4
"""Cycles of the shortest pipe: what a producer without a sure entry is given at most."""


@final
class Bound:
    """Smallest distance seen; ``sure`` if it was seen often enough to be taken for the true one."""

    __slots__ = ("cycles", "sure")

    def __init__(self, cycles: int, sure: bool) -> None:
        self.cycles: Final[int] = cycles
        self.sure: Final[bool] = sure


Rows = dict[str, dict[str, Bound]]

_tables: dict[tuple[str, int], Rows] = {}


def _read() -> None:
    rows: Rows = {}
    with open(_DATA, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            words = line.split()
            if words[0] == "table":
                rows = {}
                _tables[words[1], int(words[2])] = rows
                continue
            row: dict[str, Bound] = {}
            for w in words[1:]:
                name, _, cycles = w.rpartition(":")
                row[name] = Bound(int(cycles.rstrip("?")), not cycles.endswith("?"))
            rows[words[0]] = row


def _floor(row: dict[str, Bound]) -> int:
    least = min(b.cycles for b in row.values())
    return least if any(b.sure for b in row.values()) else min(least, _SHORTEST)


@final
class Minimum:
    """Distances of one kind on one SM."""

    __slots__ = ("_floor", "_rows")

    def __init__(self, kind: str, sm: int) -> None:
        if not _tables:
            _read()
        self._rows: Final[Rows] = _tables.get((kind, sm), {})
        self._floor: Final[dict[str, int]] = {p: _floor(row) for p, row in self._rows.items()}

    def get(self, producer: str, consumer: str) -> Bound:
        """The bound for a pair of classes.

        Without a sure measurement of the pair it is the smallest of the producer's row, the least that any reader was
        seen to need (but at most 4 where no entry of the row is sure); for a producer never measured, 1.
        """
        row = self._rows.get(producer)
        if row is None:
            return _NOTHING
        b = row.get(consumer)
        if b is not None and b.sure:
            return b
        return Bound(self._floor[producer], False)


_NOTHING: Final = Bound(1, False)
