"""Hold the latency tables against a list of measured minima, and write the pairs that exceed their classes.

    python tools/latency/import.py latencies.csv [--write]

The list has the columns sm, producer, consumer, kind, min_cycles, samples, samples_at_min (minima over compiler output; how they
were taken is in the scheduling inventory, section 3.1).  A row counts if its minimum was seen at least three times.
With ``--write`` the pairs above the class tables go to ``orias/schedule/data/measured.txt``; without it the tool fails
if that file misses one.
"""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from orias.analysis.access import P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.diag import Unsupported
from orias.isa.op import Op, op
from orias.schedule.latency import Latency

TARGETS = (75, 80, 86, 89, 90)
SERIAL = 15
KINDS = {
    "raw_gpr": ("gpr", 0, 0),
    "raw_pred": ("pred", P_BASE, 0),
    "raw_pred_guard": ("guard", P_BASE, SLOT_GUARD),
    "raw_ugpr": ("ugpr", UR_BASE, 0),
    "raw_upred": ("upred", UP_BASE, 0),
    "raw_upred_guard": ("uguard", UP_BASE, SLOT_GUARD),
}
OUT = Path(__file__).resolve().parents[2] / "orias/schedule/data/measured.txt"
HEAD = """\
# Pairs of operations whose measured minimum distance (seen at least 3 times) is above that of their classes.
# Written by tools/latency/import.py from the inventory's list of latencies; do not edit.
# kind, SM, producer, consumer, cycles
"""


def operation(name: str) -> Op:
    """The operation that a name of the list stands for."""
    if name.endswith(".64"):
        return op(f"{name[:-3]}.F64.F64" if name.startswith("F2F") else f"{name[:-3]}.F64")
    return op(name)


def main() -> int:
    with Path(sys.argv[1]).open(newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    tables = {sm: Latency(sm) for sm in TARGETS}
    if "--write" in sys.argv:
        for t in tables.values():
            t._pairs = [{} for _ in t._pairs]
    over: list[str] = []
    checked = slack = 0
    for r in rows:
        kind = KINDS.get(r["kind"])
        sm = int(r["sm"])
        if kind is None or sm not in tables or not r["samples_at_min"] or int(r["samples_at_min"]) < 3:
            continue
        if r["producer"].endswith("*") or r["consumer"].endswith("*"):
            continue
        p, c, t = operation(r["producer"]), operation(r["consumer"]), tables[sm]
        try:
            if t.barriers(p) & 1:
                continue
            same = t.op_class(p).startswith("MMA.") and p is c
            have = max(t.raw(p, w, c, kind[1], kind[2], same) for w in (0, 1))
        except (Unsupported, KeyError) as e:
            print("no facts for", r["producer"], r["consumer"], e)
            continue
        need = int(r["min_cycles"])
        if not t.op_class(p).startswith("MMA."):
            # ptxas -O0 leaves 15 cycles behind everything but matrix operations (section 2.6).
            need = min(need, SERIAL)
        checked += 1
        slack += max(0, have - need)
        if have < need:
            over.append(f"{kind[0]} {sm} {t.measured(p)} {t.measured(c)} {need}")
    print(f"{checked} pairs, {len(over)} above their classes, {slack} cycles of slack in all")
    if "--write" in sys.argv:
        OUT.write_text(HEAD + "".join(f"{line}\n" for line in over), encoding="utf-8")
        return 0
    for line in over:
        print("above the tables:", line)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
