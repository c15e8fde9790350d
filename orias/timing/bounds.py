"""Reads tables of measured distances: ``data/overwrite.txt`` here, ``orias/timing/data/minimum.txt`` for the checker.

The distances between two writes of a register are the one fact that compiler and checker share.  For a pair that nobody
has measured the compiler takes the whole latency, and the checker the smallest distance of the producer's row.
"""

import os
from typing import Final, final

from orias.kept import remembered

FOLDERS: Final[tuple[str, ...]] = ("timing", "timing/data")
"""The folders on whose files the kept distances depend (:mod:`orias.kept`)."""
_OVERWRITE: Final = os.path.join(os.path.dirname(__file__), "data", "overwrite.txt")


_SHORTEST: Final = 4
"""Cycles of the shortest pipe: the largest default for a producer without a sure entry."""

_AGREEING: Final = 3
"""Classes of consumers with few samples each that count together."""


@final
class Bound:
    """The smallest distance seen, in cycles; ``sure`` if it was seen often enough to count as the true minimum."""

    __slots__ = ("cycles", "sure")

    def __init__(self, cycles: int, sure: bool) -> None:
        self.cycles: Final[int] = cycles
        self.sure: Final[bool] = sure


Rows = dict[str, dict[str, Bound]]


def read_texts(path: str) -> dict[tuple[str, int], str]:
    """The tables of a file as text, by kind of register and SM: a compile parses those of its SM only."""
    texts: dict[tuple[str, int], str] = {}
    with open(path, encoding="utf-8") as f:
        for text in f.read().split("\ntable ")[1:]:
            head, _, lines = text.partition("\n")
            kind, sm = head.split()
            texts[kind, int(sm)] = lines
    return texts


def _lines(text: str) -> dict[str, str]:
    """The lines of one table by their first words, the producers."""
    lines: dict[str, str] = {}
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        if name and name[0] != "#":
            lines[name] = rest
    return lines


def _bounds(line: str) -> dict[str, Bound]:
    row: dict[str, Bound] = {}
    for word in line.split():
        name, _, cycles = word.rpartition(":")
        row[name] = Bound(int(cycles.rstrip("?")), not cycles.endswith("?"))
    return row


def read_rows(text: str) -> Rows:
    """The rows of one table."""
    return {name: _bounds(line) for name, line in _lines(text).items()}


def _floor(row: dict[str, Bound]) -> int:
    least = min([b.cycles for b in row.values()])
    return least if any(b.sure for b in row.values()) else min(least, _SHORTEST)


@final
class Minimum:
    """Distances of one kind on one SM; the line of a producer is parsed when it is asked for."""

    __slots__ = ("_floors", "_lines", "_rows")

    def __init__(self, text: str) -> None:
        self._lines: Final[dict[str, str]] = _lines(text)
        self._rows: Final[Rows] = {}
        self._floors: Final[dict[str, int]] = {}

    def _row(self, producer: str) -> dict[str, Bound] | None:
        row = self._rows.get(producer)
        if row is None and producer in self._lines:
            row = self._rows[producer] = _bounds(self._lines[producer])
        return row

    def sure(self, producer: str, consumer: str) -> int:
        """The distance in cycles of a pair of classes if its measurement is sure, else 0."""
        row = self._row(producer)
        b = None if row is None else row.get(consumer)
        return b.cycles if b is not None and b.sure else 0

    def seen(self, producer: str, consumer: str) -> int:
        """The smallest distance seen of a pair of classes, however seldom; 0 if the pair was never seen."""
        row = self._row(producer)
        b = None if row is None else row.get(consumer)
        return 0 if b is None else b.cycles

    def producers(self) -> set[str]:
        """The classes of the producers, without the number of a word of the result."""
        return {name.partition(".")[0] for name in self._lines}

    def agreed(self, producer: str, fixed: set[str]) -> int:
        """The distance in cycles to consumers outside the classes `fixed` if at least three of them show the same smallest one, else 0."""
        row = self._row(producer) or {}
        seen = [b.cycles for name, b in row.items() if name.partition(".")[0] not in fixed]
        return min(seen) if seen and seen.count(min(seen)) >= _AGREEING else 0

    def get(self, producer: str, consumer: str) -> Bound:
        """The bound for a pair of classes.

        Without a sure measurement of the pair it is the smallest distance of the producer's row, which is the least
        that any reader was seen to need, but at most 4 if no entry of the row is sure.  It is 1 for a producer that was
        never measured.
        """
        row = self._row(producer)
        if row is None:
            return Bound(1, False)
        b = row.get(consumer)
        if b is not None and b.sure:
            return b
        floor = self._floors.get(producer)
        if floor is None:
            floor = self._floors[producer] = _floor(row)
        return Bound(floor, False)


_overwrites: dict[tuple[str, int], str] = {}


def overwrites(kind: str, sm: int) -> Minimum:
    """Distances between two writes of one register of a kind (gpr, ugpr, pred, upred), the first of fixed latency."""
    text: str = remembered("latency", FOLDERS, f"overwrites {kind} {sm}", lambda: _overwrite_text(kind, sm))
    return Minimum(text)


def _overwrite_text(kind: str, sm: int) -> str:
    if not _overwrites:
        _overwrites.update(read_texts(_OVERWRITE))
    return _overwrites.get((kind, sm), "")
