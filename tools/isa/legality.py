"""Agreement with nvdisasm on what is an instruction, over random words.

Usage: ``python tools/isa/legality.py sm_90 COUNT [--kinds one,uniform] [--words FILE] [--report FILE] [--texts]``.  COUNT words of each kind:

* one, two: committed sample words (``tests/isa/words_*.txt``) and random words of every form, with one or two bits flipped anywhere;
* fields: an opcode of the table, harmless control bits, everything else random;
* uniform: 128 random bits.

Both directions are counted: words that only the table takes, and words that only nvdisasm takes.  ``--words`` takes all
differing words, for ``derive.py``; ``--report`` adds rows in Markdown; ``--texts`` compares the texts of words that both take too.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from probe import CALM, CONTROL, GUARD  # noqa: E402

from orias.isa.table import IsaTable, load  # noqa: E402

BATCH = 60000
Maker = Callable[[IsaTable, random.Random, int], list[int]]


def flipped(t: IsaTable, rng: random.Random, count: int, bits: tuple[int, ...] = (1, 1, 2, 3)) -> list[int]:
    """Words that ptxas writes and words of all forms, as many bits off as one of `bits` says."""
    rows = (ROOT / "tests" / "isa" / f"words_{t.name}.txt").read_text(encoding="ascii").splitlines()
    base = [int(row[:32], 16) for row in rows]
    for f in t.raw.forms():
        base += sample(f, rng, 2)
    out = []
    for _ in range(count):
        w = rng.choice(base)
        for b in rng.sample(range(128), rng.choice(bits)):
            w ^= 1 << b
        out.append(w)
    return out


def fields(t: IsaTable, rng: random.Random, count: int) -> list[int]:
    """Random fields under the table's opcodes."""
    opcodes = sorted({f.opcode for f in t.raw.forms()})
    out = []
    for _ in range(count):
        op = rng.choice(opcodes)
        w = rng.getrandbits(128) & ~(CONTROL | GUARD | 0xFFF | 1 << 91)
        out.append(w | op & 0xFFF | (op >> 12) << 91 | CALM | 7 << 12)
    return out


def uniform(_t: IsaTable, rng: random.Random, count: int) -> list[int]:
    """Random words."""
    return [rng.getrandbits(128) for _ in range(count)]


KINDS: dict[str, Maker] = {
    "one": lambda t, rng, n: flipped(t, rng, n, (1,)),
    "two": lambda t, rng, n: flipped(t, rng, n, (2,)),
    "fields": fields,
    "uniform": uniform,
}


class Count:
    """What one kind of words gave."""

    def __init__(self) -> None:
        self.both = self.neither = self.ours = self.theirs = self.text = 0
        self.by: Counter[str] = Counter()
        self.example: dict[str, int] = {}
        self.kept: list[int] = []

    def note(self, key: str, w: int) -> None:
        self.by[key] += 1
        self.example.setdefault(key, w)
        self.kept.append(w)

    def add(self, t: IsaTable, oracle: Oracle, words: list[int], texts: bool) -> None:
        """Judges words."""
        answers = oracle.ask(words)
        oracle.known.clear()
        for w in words:
            form = t.form(w)
            ok = answers[w] is not None
            opcode = f"{w & 0xFFF | (w >> 91 & 1) << 12:04x}"
            if form is not None and ok:
                self.both += 1
                if texts and not any(e.kind == "L" for o in form.operands for e in o.elems) and t.text(w) != answers[w]:
                    self.text += 1
                    self.note(f"text {opcode} {form.mnemonic}", w)
            elif form is None and not ok:
                self.neither += 1
            elif form is not None:
                self.ours += 1
                self.note(f"only the table {opcode} {form.mnemonic}", w)
            else:
                self.theirs += 1
                name = (answers[w] or "").split(" ")
                name = name[name[0].startswith("@") :]
                self.note(f"only nvdisasm {opcode} {name[0].split('.')[0]}", w)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("count", type=int)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--words", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", action="store_true")
    given = parser.parse_args(argv)
    t = load(given.table)
    oracle = Oracle(given.table.upper().replace("_", ""))
    kept: list[int] = []
    for kind in given.kinds.split(","):
        rng = random.Random(f"{given.seed} {kind}")
        c = Count()
        for start in range(0, given.count, BATCH):
            c.add(t, oracle, KINDS[kind](t, rng, min(BATCH, given.count - start)), given.texts)
        kept += c.kept
        n = given.count
        share = 100 * (c.both + c.neither) / n
        print(
            f"{t.name} {kind}: {n} words, {share:.4f} % agree; legal for both {c.both}, illegal for both {c.neither}, "
            f"only the table {c.ours}, only nvdisasm {c.theirs}; legal with another text {c.text}",
            flush=True,
        )
        for key, k in c.by.most_common(25):
            print(f"    {k:6} {key}: {c.example[key]:032x}")
        if given.report:
            with given.report.open("a", encoding="ascii") as f:
                f.write(
                    f"| {t.name} | {kind} | {n:,} | {share:.4f} % | {c.both:,} | {c.neither:,} | {c.ours} | {c.theirs} |\n"
                )
    if given.words:
        given.words.write_text("".join(f"{w:032x}\n" for w in kept), encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
