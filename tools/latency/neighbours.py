"""Smallest distances between two operations that follow each other, whatever registers they use.

    python tools/latency/neighbours.py measure OUT.csv CUBIN...
    python tools/latency/neighbours.py compare OURS.csv THEIRS.csv [LEAST]

``measure`` takes, in code without branches, the cycles from each operation to those of the next ten instructions: which share a
pipe, and what an operation without a result in registers (an arrival, a barrier, a fence) must be apart from another.  Code of
-O0, where most instructions stall 15 cycles, is left out.  ``compare`` prints the pairs that are closer in the first list than in
the second, which has them at least `LEAST` (30) times.  A smaller distance is not a fault as such: a compiler may never have had
a reason to be closer.
"""

import csv
import sys
from collections import deque
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from orias.cubin.reader import Reader
from orias.isa.decode import Decoded
from orias.isa.isa_table import load
from orias.isa.op import F_CALL, F_TERM
from orias.target.profile import profile_of_sm
from orias.timing.ctl import stall

NEAR = 10
LEAST = 30
_UNOPTIMISED_STALL = 15
Pair = tuple[str, str]
Rows = dict[Pair, tuple[int, int]]
"""Smallest distance in cycles, and how many pairs there were."""


def name(d: Decoded) -> str:
    """The operation with two modifiers at most, without shapes: HGMMA, BAR.SYNC, SYNCS.ARRIVE.TRANS64."""
    return ".".join([d.op.base, *[m for m in d.op.mods if m[0].isalpha()][:2]])


def code_of(data: bytes) -> list[list[Decoded]]:
    """The instructions of each section of code; a word that the table does not know ends a section."""
    reader = Reader(data)
    table = load(profile_of_sm(reader.sm).table)
    out: list[list[Decoded]] = []
    for section in reader.elf.sections:
        if section.name.startswith(".text."):
            words = (section.data[k : k + 16] for k in range(0, len(section.data), 16))
            out.append([table.decode(int.from_bytes(w, "little")) for w in words])
    return out


def add_pairs(code: list[Decoded], rows: Rows) -> None:
    """Add the distances of one section."""
    if sum(stall(d.ctl) == _UNOPTIMISED_STALL for d in code) * 2 > len(code):
        return
    now = 0
    before: deque[tuple[str, int]] = deque(maxlen=NEAR)
    for d in code:
        here = name(d)
        for other, at in before:
            least, seen = rows.get((other, here), (1 << 30, 0))
            rows[other, here] = min(least, now - at), seen + 1
        if d.op.flags & (F_TERM | F_CALL):
            before.clear()
        before.append((here, now))
        now += stall(d.ctl) or 1


def measure(out: Path, files: list[str]) -> int:
    rows: Rows = {}
    for file in files:
        try:
            for code in code_of(Path(file).read_bytes()):
                add_pairs(code, rows)
        except Exception as e:
            print(f"{file}: {type(e).__name__}: {e}", file=sys.stderr)
    with out.open("w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow(("first", "second", "cycles", "pairs"))
        w.writerows((*pair, *row) for pair, row in sorted(rows.items()))
    return 0


def read(path: Path) -> Rows:
    with path.open(newline="", encoding="utf-8") as f:
        return {(r["first"], r["second"]): (int(r["cycles"]), int(r["pairs"])) for r in csv.DictReader(f)}


def compare(ours: Rows, theirs: Rows, least: int) -> list[str]:
    """A line for each pair that is closer in `ours`, the first operations in order of their pairs."""
    found = sorted(
        (pair[0], -theirs[pair][1], pair[1])
        for pair, (cycles, _) in ours.items()
        if pair in theirs and cycles < theirs[pair][0] and theirs[pair][1] >= least
    )
    lines = []
    for first, group in groupby(found, lambda x: x[0]):
        for _, seen, second in group:
            lines.append(f"{first:28} {second:28} {ours[first, second][0]:3} {theirs[first, second][0]:3}  of {-seen}")
    return lines


def main(argv: list[str]) -> int:
    if len(argv) > 2 and argv[0] == "measure":
        return measure(Path(argv[1]), argv[2:])
    if len(argv) in (3, 4) and argv[0] == "compare":
        least = int(argv[3]) if len(argv) == 4 else LEAST
        print("\n".join(compare(read(Path(argv[1])), read(Path(argv[2])), least)))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
