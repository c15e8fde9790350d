"""Measure the smallest distances in cycles that a compiler leaves, and write the checker's table.

    python tools/latency/bounds.py measure OUT.csv CUBIN...        distances over compiler output (all paths), by operation
    python tools/latency/bounds.py write MEASURED.csv... [--list DISTANCES.csv] [--lower [--once]]

``measure`` runs the checker's own data flow over cubins and records, for each pair of operations and kind of register,
the smallest number of cycles between a result of fixed latency and a reader of it (or a second writer).  ``write``
reduces such lists, and a list of ``import.py``'s form, to classes of operations in ``orias/timing/data/minimum.txt`` and,
for second writes, ``orias/timing/data/overwrite.txt``.  What these hold already was seen too: an entry never becomes larger, and one of the
same size stays sure; an entry for reads with few samples becomes sure where three other targets are sure of the same.  ``--lower``: no entry becomes sure either, there is no new row, and second writes seen once or twice do not count (for code at -O0 and of small programs made alike, where a compiler's habits repeat).  ``--once``: they do count (for code that many machines run, as that
of libraries): what was seen to work is no alarm.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from orias.check.code import Node
from orias.check.cubin import check_cubin
from orias.check.hazard_flow import Observer
from orias.isa.op import Op, op
from orias.target.profile import profile_of_sm
from orias.timing.bounds import Bound, read_rows, read_texts
from orias.timing.distance_classes import KINDS, consumer_class, kind_of, producer_class
from orias.timing.latency import base_class
from orias.timing.units import units

ROOT = Path(__file__).resolve().parents[2]
READS = ROOT / "orias/timing/data/minimum.txt"
WRITES = ROOT / "orias/timing/data/overwrite.txt"
READS_HEAD = """\
# Smallest distances in cycles that ptxas 13.0.88 leaves between a result of fixed latency and a reader (gpr, ugpr, pred, guard,
# upred, uguard), by class of producer and consumer and by SM.  Upper bounds of what the hardware needs, never more than any
# compiler output seen.  Written by tools/latency/bounds.py; do not edit.
# A '?' marks entries with too few samples (see `sure` in the tool): the true bound may be lower.
# kind SM, then per producer class: consumer class:cycles ...
"""
WRITES_HEAD = """\
# Smallest distances in cycles that ptxas 13.0.88 leaves between two writes of one register (gpr, ugpr, pred, upred), the first of
# fixed latency, by class of the first and of the second and by SM ('*': any second of variable latency).  Written by
# tools/latency/bounds.py; do not edit.  The compiler and the checker of cubins both read it (Latency.waw, Facts.waw).
# A '?' marks entries with too few samples (see `sure` in the tool).
# kind SM, then per class of the first: class of the second:cycles ...
"""
FEW_SAMPLES = 10
FEW_AT_MINIMUM = 3
MANY_SAMPLES = 30
MANY_AT_MINIMUM = 10
LONGEST = 15
"""Cycles of the longest latency outside matrix operations: a larger minimum is that of habit, not of the hardware."""
AGREEING = 3
"""Targets whose sure entries make one of the same size sure that has few samples."""
NEAR = 4
"""Cycles above the smallest of a row from which on an entry needs more samples."""
Key = tuple[int, str, str, str]


class Minimum:
    """Smallest value seen, how often anything was seen, how often the smallest."""

    __slots__ = ("at", "cycles", "samples")

    def __init__(self) -> None:
        self.cycles = 1 << 30
        self.samples = 0
        self.at = 0

    def add(self, cycles: int, samples: int = 1, at: int = 1) -> None:
        self.samples += samples
        if cycles < self.cycles:
            self.cycles, self.at = cycles, 0
        if cycles == self.cycles:
            self.at += at


def sure(kind: str, producer: str, m: Minimum, floor: int) -> bool:
    """True if a minimum was seen often enough, and is of a size, to be what the hardware needs."""
    if m.cycles > LONGEST and not producer.startswith("MMA"):
        return False
    if kind.startswith("waw") or m.cycles > floor + NEAR:
        return m.samples >= MANY_SAMPLES and m.at >= MANY_AT_MINIMUM
    return m.samples >= FEW_SAMPLES and m.at >= FEW_AT_MINIMUM


class Collector(Observer):
    """Rows by class."""

    def __init__(self, sm: int) -> None:
        self.sm = sm
        self.units = units(sm)
        self.rows: dict[tuple[str, str, str], Minimum] = defaultdict(Minimum)

    def raw(self, producer: Node, word: int, consumer: Node, unit: int, slot: int, cycles: int) -> None:
        key = (
            KINDS[kind_of(unit, slot)],
            producer_class(producer.d.op, word, self.units),
            consumer_class(consumer.d.op, consumer.d.src, slot, self.units),
        )
        self.rows[key].add(cycles)

    def waw(self, first: Node, second: Node, unit: int, cycles: int) -> None:
        late = "*" if not second.fixed else ""
        key = (
            f"waw-{KINDS[kind_of(unit, 0)]}",
            base_class(first.d.op, self.units),
            late or base_class(second.d.op, self.units),
        )
        self.rows[key].add(cycles)


def write_rows(out: Path, collectors: dict[int, Collector]) -> None:
    """The list of what some collectors saw, for ``write``."""
    with out.open("w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow(("sm", "producer", "consumer", "kind", "min_cycles", "samples", "samples_at_min"))
        for c in collectors.values():
            for (kind, p, q), m in sorted(c.rows.items()):
                w.writerow((c.sm, p, q, kind, m.cycles, m.samples, m.at))


def measure(out: Path, files: list[str]) -> int:
    collectors: dict[int, Collector] = {}
    for k, name in enumerate(files):
        data = Path(name).read_bytes()
        sm = data[0x31]
        if sys.stderr.isatty():
            print(f"\r{k + 1}/{len(files)} {Path(name).name[:60]:60}", end="", file=sys.stderr)
        try:
            model = profile_of_sm(sm).latency_class
            check_cubin(data, collectors.setdefault(model, Collector(model)))
        except Exception as e:
            print(f"\n{name}: {type(e).__name__}: {e}", file=sys.stderr)
    print(file=sys.stderr)
    write_rows(out, collectors)
    return 0


_LIST_KINDS = {
    "raw_gpr": "gpr", "raw_ugpr": "ugpr", "raw_pred": "pred", "raw_pred_guard": "guard", "raw_upred": "upred",
    "raw_upred_guard": "uguard", "waw_gpr": "waw-gpr", "waw_ugpr": "waw-ugpr", "waw_pred": "waw-pred",
}  # fmt: skip


def _operation(name: str) -> Op:
    if name.endswith(".64") and name[:-3] in ("F2F", "F2I", "I2F", "FRND"):
        return op(f"{name[:-3]}.F64.F64" if name.startswith("F2F") else f"{name[:-3]}.F64")
    return op(name)


def _read_list(path: Path, rows: dict[Key, Minimum]) -> None:
    with path.open(newline="", encoding="utf-8") as f:
        for r in csv.DictReader(f):
            kind = _LIST_KINDS.get(r["kind"])
            if kind is None or r["producer"].endswith("*") or not r["samples_at_min"]:
                continue
            sm = int(r["sm"])
            u = units(sm)
            p = _operation(r["producer"])
            late = r["consumer"].endswith("*")
            q = _operation(r["consumer"].rstrip("*"))
            if kind.startswith("waw"):
                names = [(base_class(p, u), "*" if late else base_class(q, u))]
            else:
                # The list does not say which word or operand: the smallest may belong to any of them.
                b = consumer_class(q, [], 0, u)
                more = f"{b}.C" if b.startswith("MMA.") or b == "WIDE" else f"{b}.D" if kind == "ugpr" and q.addr else b
                names = [(producer_class(p, 0, u), c) for c in {b, more}]
            for a, b in names:
                rows[sm, kind, a, b].add(int(r["min_cycles"]), int(r["samples"]), int(r["samples_at_min"]))


def merge(row: dict[str, Bound], name: str, found: Bound, lower: bool, reads: bool) -> None:
    """The smaller of two bounds; of two equal ones the sure one."""
    old = row.get(name)
    if old is None or found.cycles < old.cycles:
        known = old is not None and old.sure
        # What was sure for reads stays a bound of its own; second writes, which the compiler relies on, need samples enough.
        row[name] = Bound(found.cycles, known if lower and reads else found.sure and (known or not lower))
    elif found.cycles == old.cycles and found.sure and not lower:
        row[name] = found


def agree(by_row: dict[tuple[int, str, str], dict[str, Bound]]) -> None:
    """Entries of reads with few samples become sure where three other targets are sure of the same number, and none of a smaller one."""
    for (sm, kind, p), row in by_row.items():
        if kind.startswith("waw"):
            continue
        others = [r for (s, k, q), r in by_row.items() if (k, q) == (kind, p) and s != sm]
        for q, b in row.items():
            known = [r[q].cycles for r in others if q in r and r[q].sure]
            if not b.sure and known.count(b.cycles) >= AGREEING and min(known) == b.cycles:
                row[q] = Bound(b.cycles, True)


def write(arguments: list[str]) -> int:
    rows: dict[Key, Minimum] = defaultdict(Minimum)
    lower, once = "--lower" in arguments, "--once" in arguments
    arguments = [a for a in arguments if a not in ("--lower", "--once")]
    if "--list" in arguments:
        i = arguments.index("--list")
        _read_list(Path(arguments[i + 1]), rows)
        arguments = arguments[:i] + arguments[i + 2 :]
    for name in arguments:
        with Path(name).open(newline="", encoding="utf-8") as f:
            for r in csv.DictReader(f):
                rows[int(r["sm"]), r["kind"], r["producer"], r["consumer"]].add(
                    int(r["min_cycles"]), int(r["samples"]), int(r["samples_at_min"])
                )
    by_row: dict[tuple[int, str, str], dict[str, Bound]] = defaultdict(dict)
    for path, prefix in ((READS, ""), (WRITES, "waw-")):
        for (kind, sm), text in read_texts(str(path)).items():
            table = read_rows(text)
            for p, row in table.items():
                by_row[sm, prefix + kind, p].update(row)
    floors: dict[tuple[int, str, str], int] = {}
    for (sm, kind, p, _), m in rows.items():
        floors[sm, kind, p] = min(m.cycles, floors.get((sm, kind, p), m.cycles))
    known = set(by_row)
    for (sm, kind, p, q), m in sorted(rows.items()):
        rare = kind.startswith("waw") and m.at < FEW_AT_MINIMUM and not once
        if lower and ((sm, kind, p) not in known or rare):
            continue
        merge(
            by_row[sm, kind, p],
            q,
            Bound(m.cycles, sure(kind, p, m, floors[sm, kind, p])),
            lower,
            not kind.startswith("waw"),
        )
    if not lower:
        agree(by_row)
    for out, head, second in ((READS, READS_HEAD, False), (WRITES, WRITES_HEAD, True)):
        lines = [head]
        last: tuple[int, str] | None = None
        for (sm, kind, p), entries in sorted(by_row.items()):
            if kind.startswith("waw-") != second:
                continue
            if (sm, kind) != last:
                lines.append(f"table {kind.removeprefix('waw-')} {sm}\n")
                last = (sm, kind)
            row_text = (f"{q}:{b.cycles}{'' if b.sure else '?'}" for q, b in sorted(entries.items()))
            lines.append(f"{p} {' '.join(row_text)}\n")
        out.write_text("".join(lines), encoding="utf-8")
        print(f"{out.name}: {out.stat().st_size} bytes")
    return 0


def main() -> int:
    if sys.argv[1] == "measure":
        return measure(Path(sys.argv[2]), sys.argv[3:])
    return write(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
