"""Cycle distances between two instructions of a target.

The numbers are in ``data/latency.txt`` (by class of operation, ``docs/facts/timing.md``), ``data/measured.txt`` (pairs
of operations whose measured minimum is above that of their classes) and ``data/overwrite.txt`` (second writes); no
other file of the compiler has a cycle count.  A distance is the sum of the stall counts from the first instruction to
the second.
"""

import os
from typing import Final, TypeAlias, final

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.diag import Unsupported
from orias.isa.gmma_forms import ARRIVE
from orias.isa.op import F_CALL, F_MATRIX, F_RETURNS, F_WGMMA_SYNC, Op
from orias.isa.operations import facts
from orias.isa.widths import widths
from orias.kept import remembered
from orias.target import features
from orias.target.profile import profile_of_sm
from orias.timing.bounds import FOLDERS, Minimum, overwrites
from orias.timing.units import ALU, CBU, CONTROL, FMA, FP64, HALF, HALF_CMP, MEM, NEEDS_WRITE, UNIFORM, XU, Units, units

_DATA: Final = os.path.join(os.path.dirname(__file__), "data")


def _lines(name: str) -> list[str]:
    with open(os.path.join(_DATA, name), encoding="utf-8") as f:
        return f.read().splitlines()


_PIPE_CLASS: Final[dict[int, str]] = {
    ALU: "ALU", FMA: "FMA", HALF: "HALF", HALF_CMP: "HCMP", XU: "XU", MEM: "MEM", FP64: "FP64", UNIFORM: "UALU", CONTROL: "CTRL",
    CBU: "CTRL",
}  # fmt: skip
_NEAREST: Final[dict[str, str]] = {
    "MMA.13": "MMA", "MMA.16": "MMA", "MMA.24": "MMA", "MMA.X": "MMA", "SLOW": "ALU", "VOTE": "ALU", "LDC": "MEM",
    "GMMA": "MMA", "WG": "*",
}  # fmt: skip
"""Consumer class without a column of its own -> the column to use."""
_GMMA_SOURCES: Final = 7
"""Cycles until the uniform registers of a warpgroup operation may be overwritten; ptxas leaves 1 (docs/facts/timing.md)."""
_BEFORE_CS2R: Final = 14

DUAL: Final = "DUAL"
"""The turns of operations that issue in any cycle, beside those of the ALU pipe."""
GPR: Final = 0
PRED: Final = 1
GUARD: Final = 2
UGPR: Final = 3
UPRED: Final = 4
UGUARD: Final = 5
_KINDS: Final[tuple[str, ...]] = ("gpr", "pred", "guard", "ugpr", "upred", "uguard")


def class_name(op: Op, u: Units) -> str:
    """Latency class of an operation: row and column name in the table."""
    pipe = u.pipe(op)
    f = facts(op.base)
    return (f.value("class", op.mods) if f is not None else "") or _PIPE_CLASS[pipe]


def measured_name(op: Op) -> str:
    """Name of an operation in ``measured.txt``."""
    if op.flags & F_MATRIX:
        return op.name
    if op.flags & (F_CALL | F_RETURNS):
        return ".".join([op.base, *op.mods[:1]])
    f = facts(op.base)
    suffix = f.value("measured", op.mods) if f is not None else ""
    return f"{op.base}.{suffix}" if suffix else op.base


def base_class(op: Op, u: Units) -> str:
    """Class of an operation in the tables of measured distances: its latency class, or its own name for an irregular one.

    An operation without a known unit (a cubin may hold any operation) is a class of its own.
    """
    try:
        name = class_name(op, u)
    except Unsupported:
        return op.base
    if name == "SLOW" or name == "CTRL":
        return measured_name(op).split(".")[0]
    return name


@final
class _Table:
    """The distances of one kind of dependence, by producer class and consumer class."""

    __slots__ = ("_lines", "columns", "rows")

    def __init__(self, lines: list[list[str]]) -> None:
        """`lines`: the words of each line, the columns first."""
        self.columns: dict[str, int] = {c: i for i, c in enumerate(lines[0])}
        self.rows: dict[str, list[int]] = {}
        self._lines: list[list[str]] = lines
        for words in lines[1:]:
            values = [int(w.rstrip("?")) for w in words[1:]]
            if len(values) != len(self.columns):
                raise ValueError(f"latency.txt: row {words}")
            self.rows[words[0]] = values

    def get(self, producer: str, consumer: str) -> int:
        row = self.rows.get(producer)
        if row is None:
            row = self.rows["ALU" if producer == "VOTE" else "OTHER"]
        i = self.columns.get(consumer, -1)
        if i < 0:
            i = self.columns.get(_NEAREST.get(consumer, "*"), -1)
        return row[self.columns["*"] if i < 0 else i]

    def is_guess(self, producer: str, consumer: str) -> bool:
        """Whether there is no such entry, or it is marked as a guess."""
        i = self.columns.get(consumer, -1)
        for words in self._lines[1:]:
            if words[0] == producer:
                return i < 0 or words[i + 1].endswith("?")
        return True


_Parts: TypeAlias = """tuple[
    dict[tuple[str, int], list[list[str]]], list[tuple[str, int, list[int]]], list[tuple[str, int, list[int]]],
    list[tuple[str, int, list[int]]], list[tuple[str, str, list[int]]], dict[tuple[str, int], dict[tuple[str, str], int]],
]"""
"""What the data files hold, for :mod:`orias.kept`."""


@final
class _Facts:
    """The contents of the data files."""

    __slots__ = ("_lines", "_tables", "intervals", "pairs", "sources", "stalls", "turns")

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], list[list[str]]] = {}
        """The words of the lines of each table: a compile parses the tables of its SM only."""
        self._tables: dict[tuple[str, int], _Table] = {}
        self.intervals: list[tuple[str, int, list[int]]] = []
        self.stalls: list[tuple[str, int, list[int]]] = []
        self.sources: list[tuple[str, int, list[int]]] = []
        self.turns: list[tuple[str, str, list[int]]] = []
        self.pairs: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
        found: _Parts = remembered("latency", FOLDERS, "facts", self._read)
        self._lines, self.intervals, self.stalls, self.sources, self.turns, self.pairs = found

    def _read(self) -> _Parts:
        self._read_classes()
        self._read_pairs()
        return self._lines, self.intervals, self.stalls, self.sources, self.turns, self.pairs

    def _read_classes(self) -> None:
        table: list[list[str]] = []
        for line in _lines("latency.txt"):
            words = line.split()
            if not words or words[0] == "#" or line[0] == "#":
                continue
            if words[0] == "table":
                table = self._lines[words[1], int(words[2])] = []
            elif words[0] in ("interval", "stall", "sources", "turn"):
                self._read_list(words)
            else:
                table.append(words)

    def table(self, kind: str, sm: int) -> _Table:
        """The table of a kind for an SM, or of the SM before it that has one."""
        if (kind, sm) not in self._lines:
            sm = 80 if (kind, 80) in self._lines else 75
        found = self._tables.get((kind, sm))
        if found is None:
            found = self._tables[kind, sm] = _Table(self._lines[kind, sm])
        return found

    def _read_list(self, words: list[str]) -> None:
        kinds = {"interval": self.intervals, "stall": self.stalls, "sources": self.sources}
        for name, value in zip(words[1::2], words[2::2], strict=True):
            what, _, numbers = value.partition(":")
            sms = [int(x) for x in numbers.split(",")] if numbers else []
            if words[0] == "turn":
                self.turns.append((name, what, sms))
            else:
                kinds[words[0]].append((name, int(what), sms))

    def _read_pairs(self) -> None:
        for line in _lines("measured.txt"):
            words = line.split()
            if not words or line[0] == "#":
                continue
            kind, sm, producer, consumer, cycles = words
            self.pairs.setdefault((kind, int(sm)), {})[producer, consumer] = int(cycles)


_facts: list[_Facts] = []


def _load() -> _Facts:
    if not _facts:
        _facts.append(_Facts())
    return _facts[0]


def source_cycles(reader: Op, u: Units, sm: int) -> int:
    """Cycles for which a matrix or uniform operation of fixed latency reads its sources; 1 for any other operation."""
    try:
        name = class_name(reader, u)
    except Unsupported:
        return 1
    if name == "UALU":
        return max([n for w, n, sms in _load().sources if w.startswith("UALU.") and sm in sms], default=1)
    if not name.startswith("MMA."):
        return 1
    words = str(widths(reader).src[0])
    return max([n for w, n, sms in _load().sources if w == words and sm in sms], default=1)


def reads_before(reader: Op, writer: Op, u: Units, sm: int) -> bool:
    """True if an operation of fixed latency has read its sources before a result of the next one can arrive, as one pipe sees to."""
    if base_class(reader, u) == "UALU":
        row = f"UALU.{base_class(writer, u)}"
        return not any(w == row and sm in sms for w, _, sms in _load().sources)
    return writer.flags & F_WGMMA_SYNC != 0 or writer.base.endswith("MMA")


def kind_of(unit: int, slot: int) -> int:
    """The kind of a dependence through register unit `unit`, read at source position `slot`."""
    if unit < UR_BASE:
        return GPR
    if unit < P_BASE:
        return UGPR
    if unit < UP_BASE:
        return GUARD if slot == SLOT_GUARD else PRED
    return UGUARD if slot == SLOT_GUARD else UPRED


@final
class Latency:
    """The cycle distances of one latency class (``Target.latency_class``)."""

    __slots__ = (
        "_base",
        "_busy",
        "_cache",
        "_class",
        "_full_latency_overwrites",
        "_interval",
        "_late_wide_addend",
        "_name",
        "_overwrites",
        "_overwrite",
        "_own",
        "_pairs",
        "_sources",
        "_stall",
        "_tables",
        "_turn",
        "sm",
        "units",
    )

    def __init__(self, sm: int) -> None:
        profile = profile_of_sm(sm)
        facts = _load()
        self.sm: Final[int] = sm
        self._late_wide_addend: Final[bool] = profile.has(features.LATE_WIDE_ADDEND)
        self._full_latency_overwrites: Final[bool] = profile.has(features.FULL_LATENCY_OVERWRITES)
        self.units: Final[Units] = units(sm)
        self._base: Final[int] = profile.number("latency_table")
        self._tables: Final[dict[int, _Table]] = {}
        """By kind, once they have been asked for, as are those of overwrites."""
        self._pairs: list[dict[tuple[str, str], int]] = [facts.pairs.get((k, sm), {}) for k in _KINDS]
        self._overwrites: Final[dict[int, Minimum]] = {}
        self._busy: dict[int, int] = {}
        self._interval: dict[str, int] = {n: c for n, c, sms in facts.intervals if not sms or sm in sms}
        self._stall: dict[str, int] = {n: c for n, c, sms in facts.stalls if not sms or sm in sms}
        self._turn: dict[str, str] = {n: c for n, c, sms in facts.turns if not sms or sm in sms}
        self._class: dict[int, str] = {}
        self._sources: dict[int, int] = {}
        self._name: dict[int, str] = {}
        self._cache: dict[tuple[int, int, int, int], int] = {}
        self._own: dict[tuple[int, int], int] = {}
        self._overwrite: dict[tuple[int, int, int], int] = {}

    def _table(self, kind: int) -> _Table:
        found = self._tables.get(kind)
        if found is None:
            found = self._tables[kind] = _load().table(_KINDS[kind], self._base)
        return found

    def _overwritten(self, kind: int) -> Minimum:
        found = self._overwrites.get(kind)
        if found is None:
            found = self._overwrites[kind] = overwrites(_KINDS[kind], self.sm)
        return found

    def op_class(self, op: Op) -> str:
        """Latency class of an operation."""
        c = self._class.get(op.ident)
        if c is None:
            c = class_name(op, self.units)
            self._class[op.ident] = c
        return c

    def barriers(self, op: Op) -> int:
        """NEEDS_WRITE and NEEDS_READ of :mod:`orias.timing.units`, as a bit set."""
        return self.units.barriers(op)

    def raw(self, producer: Op, word: int, consumer: Op, unit: int, slot: int, accumulates: bool = False) -> int:
        """Cycles from a fixed-latency result (word `word`, in register unit `unit`) to its read at source position `slot`.

        ``accumulates``: the read is the accumulator of a matrix operation of the same kind.
        """
        if unit >= B_BASE:
            return 1
        kind = kind_of(unit, slot)
        key = (producer.ident, consumer.ident, kind, word << 1 | accumulates)
        n = self._cache.get(key)
        if n is None:
            n = self._raw(producer, word, consumer, kind, accumulates)
            self._cache[key] = n
        if (
            kind == GPR
            and slot == 2
            and unit & 1
            and self._late_wide_addend
            and n <= 5
            and self.op_class(consumer) == "WIDE"
        ):
            # Two-pass products read the upper half of their addend two cycles later (raw_gpr_slot rows).
            return max(2, n - 2)
        return n

    def _raw(self, producer: Op, word: int, consumer: Op, kind: int, accumulates: bool) -> int:
        pc = self.op_class(producer)
        cc = self.op_class(consumer)
        if pc == "WIDE":
            pc = "WIDE.0" if word == 0 and "WIDE" in producer.mods else "WIDE.1"
        if kind in (GUARD, UGUARD):
            cc = "SYNC" if consumer.base in ("WARPSYNC", "BAR") else cc
            if pc in ("FMA", "VOTE", "WIDE.0", "WIDE.1", "HALF", "XU"):
                pc = "ALU"
        n = self._table(kind).get(pc, "ACC" if accumulates and pc.startswith("MMA.") else cc)
        if kind == GPR:
            f = facts(consumer.base)
            if f is not None:
                n = max(n, f.number_of_class("input", self.units.table))
        m = self._pairs[kind].get((self.measured(producer), self.measured(consumer)), 0)
        if m > n and not (pc == "WIDE.0" and kind == GPR):
            return m
        return n

    def measured(self, op: Op) -> str:
        """Name of an operation in the list of measured pairs."""
        n = self._name.get(op.ident)
        if n is None:
            n = measured_name(op)
            self._name[op.ident] = n
        return n

    def is_guess(self, producer: Op, consumer: Op, unit: int, slot: int) -> bool:
        """True if the distance is an upper bound that no measurement of these classes supports."""
        t = self._table(kind_of(unit, slot))
        pc = self.op_class(producer)
        cc = self.op_class(consumer)
        return t.is_guess(pc, cc)

    def settle(self, op: Op, unit: int) -> int:
        """Cycles until a fixed-latency result is in its register unit `unit`, for consumers of the same kind."""
        key = (op.ident, kind_of(unit, 0))
        n = self._own.get(key)
        if n is None:
            kind = key[1]
            pc = self.op_class(op)
            if pc == "WIDE":
                pc = "WIDE.0" if kind != GPR and "WIDE" in op.mods else "WIDE.1"
            if pc == "VOTE":
                pc = "ALU"
            n = self._table(kind).get(pc, "UALU" if kind in (UGPR, UPRED) else "ALU")
            self._own[key] = n
        return n

    def waw(self, first: Op, second: Op, unit: int) -> int:
        """Cycles between two writes of one register, the first of fixed latency.

        The second write must land later.  ``data/overwrite.txt`` has the distances that ptxas leaves, for pairs that
        were seen often enough; for any other pair the second write waits for the whole latency of the first.  On sm_75
        ptxas always leaves as many cycles as a read of the register by the second operation would need (13.0.88, 14,000
        pairs of arithmetic operations).
        """
        if unit >= B_BASE:
            return 1
        kind = kind_of(unit, 0)
        key = (first.ident, second.ident, kind)
        n = self._overwrite.get(key)
        if n is None:
            n = self._overwrite[key] = self._waw(first, second, unit, kind)
        return n

    def _waw(self, first: Op, second: Op, unit: int, kind: int) -> int:
        if self.op_class(first) == "GMMA":
            # A warpgroup operation that still writes needs a wait, not a distance.
            return 1
        n = self.settle(first, unit)
        if self.units.barriers(second) & 1:
            return n
        if second.base == "CS2R":
            # ptxas leaves 6 to 14 cycles, with few samples: no measurement shows that the result of CS2R lands later.
            return max(n, _BEFORE_CS2R)
        if self._full_latency_overwrites and kind == GPR:
            return max(n, self._raw(first, 1, second, GPR, False))
        return self._overwritten(kind).sure(base_class(first, self.units), base_class(second, self.units)) or n

    def after_arrival(self, operation: Op) -> int:
        """Cycles from the arrival of a warpgroup to its operation, whatever registers that uses."""
        return self._raw(ARRIVE, 0, operation, GPR, False)

    def held(self, reader: Op) -> int:
        """Cycles from a read at issue (not a late read) after which any operation may write the register."""
        if self.op_class(reader) == "GMMA":
            return _GMMA_SOURCES
        n = self._sources.get(reader.ident)
        if n is None:
            n = self._sources[reader.ident] = max(reader.held, source_cycles(reader, self.units, self.sm))
        return n

    def war(self, reader: Op, writer: Op) -> int:
        """Cycles from a read at issue (not a late read) to a write of the same register."""
        n = self.held(reader)
        if n == 1 or self.units.barriers(writer) & NEEDS_WRITE or reads_before(reader, writer, self.units, self.sm):
            return 1
        return n

    def interval(self, op: Op) -> int:
        """Cycles that an operation keeps its pipe busy (1 if unknown)."""
        if op.busy and self.op_class(op) == "FMA":
            return op.busy
        if op.flags & F_MATRIX:
            known = self._busy.get(op.ident)
            if known is None:
                known = self._busy[op.ident] = self._matrix_interval(op)
            return known
        return self._interval.get(self._taken(op), 1)

    def _matrix_interval(self, op: Op) -> int:
        """The interval of the longest beginning of the operation's name that has one, else of its class."""
        words = op.name.split(".")
        for n in range(len(words), 0, -1):
            known = self._interval.get(".".join(words[:n]))
            if known is not None:
                return known
        return self._interval.get(self._taken(op), 1)

    def _taken(self, op: Op) -> str:
        """The class whose turns an operation takes."""
        c = self.op_class(op)
        return c if c == "ALU64" else self._turn.get(op.base, c)

    def pipe_key(self, op: Op) -> str:
        """Name of the pipe that :meth:`interval` is about."""
        c = self._taken(op)
        return "XU" if c == "XU64" else "FMA" if c == "WIDE" else c

    def min_stall(self, op: Op) -> int:
        """Smallest stall count of the operation, in cycles."""
        return self._stall.get(op.base, 1)


_latencies: dict[int, Latency] = {}


def latency(sm: int) -> Latency:
    """The latencies of ``Target.latency_class`` `sm`, loaded once; Unsupported if there are none."""
    x = _latencies.get(sm)
    if x is None:
        x = Latency(sm)
        _latencies[sm] = x
    return x
