"""Agreement with nvdisasm on what is an instruction, over random words.

Usage: ``python tools/isa/legality.py sm_90 COUNT [--kinds one,uniform] [--words FILE] [--report FILE] [--texts] [--log FILE]``.  COUNT words of each kind:

* one, two: committed sample words (``tests/isa/words_*.txt``) and random words of every form, with one or two bits flipped anywhere;
* fields: an opcode of the table, harmless control bits, everything else random;
* uniform: 128 random bits;
* corners: words of all forms with numbers at 0 and all ones, where layouts change (not unless asked for).

Both directions are counted, by opcode and layout: words that only the table takes, and words that only nvdisasm takes.  ``--words`` takes all
differing words, for ``derive.py``; ``--report`` adds rows in Markdown; ``--texts`` compares the texts of words that both take too.  Words are made and judged in batches of
200,000, each with a seed of its own; ``--log`` takes what every batch gave, and a run with the same log goes on after its last batch.

Without ``--texts`` the tool is asked for its list of illegal words, which is much cheaper than texts (``Oracle.legal``); of the words that both take one in PROVED is
asked for its text too, and an illegal one among them ends the program: ``oracle.UNLISTED`` lacks its opcode.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle, Parsed  # noqa: E402
from probe import CALM, CONTROL, GUARD  # noqa: E402

from orias.isa.isa_table import IsaTable, load  # noqa: E402

BATCH = 200_000
PROVED = 100
SHOWN = 300
"""Groups of differing words to print."""
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


def corners(t: IsaTable, rng: random.Random, count: int) -> list[int]:
    """About `count` words next to all forms: up to three numbers are 0 or all ones, one modifier is anything."""
    forms = t.raw.forms()
    out = []
    for f in forms:
        numbers = [e.mask() for o in f.operands for e in o.elems if e.kind != "W" and e.mask()]
        mods = [p.mask for p in f.pieces() if p.bits]
        for w in sample(f, rng, max(1, count // len(forms))):
            for m in rng.sample(numbers, min(len(numbers), rng.randrange(4))):
                w = rng.choice((w & ~m, w | m))
            if mods and rng.randrange(2):
                m = rng.choice(mods)
                w = w & ~m | rng.getrandbits(128) & m
            out.append(w)
    return out


KINDS: dict[str, Maker] = {
    "one": lambda t, rng, n: flipped(t, rng, n, (1,)),
    "two": lambda t, rng, n: flipped(t, rng, n, (2,)),
    "fields": fields,
    "uniform": uniform,
    "corners": corners,
}


class Count:
    """What one kind of words gave."""

    def __init__(self) -> None:
        self.both = self.neither = self.ours = self.theirs = self.text = 0
        self.by: Counter[str] = Counter()
        self.logged: Counter[str] = Counter()
        self.example: dict[str, int] = {}
        self.kept: list[int] = []

    @property
    def asked(self) -> int:
        return self.both + self.neither + self.ours + self.theirs

    @property
    def share(self) -> float:
        """Percent of the words on which both agree."""
        return 100 * (self.both + self.neither) / max(1, self.asked)

    def row(self) -> list[int]:
        return [self.both, self.neither, self.ours, self.theirs, self.text]

    def restore(self, log: Path | None, name: str, key: str) -> bool:
        """Adds what a log says of a batch; returns whether it says anything."""
        for line in log.read_text(encoding="ascii").splitlines() if log and log.exists() else ():
            row = json.loads(line)
            if row["table"] == name and row["batch"] == key:
                self.both, self.neither, self.ours, self.theirs, self.text = (
                    a + b for a, b in zip(self.row(), row["counts"], strict=True)
                )
                for group, (k, word) in row["groups"].items():
                    self.by[group] += k
                    self.example.setdefault(group, int(word, 16))
                self.logged = Counter(self.by)
                return True
        return False

    def store(self, log: Path | None, name: str, key: str, before: list[int]) -> None:
        """Adds a batch to a log: the counts since `before`, and the groups of its differing words."""
        if log is None:
            return
        counts = [a - b for a, b in zip(self.row(), before, strict=True)]
        groups = {k: [n, f"{self.example[k]:032x}"] for k, n in (self.by - self.logged).items()}
        self.logged = Counter(self.by)
        with log.open("a", encoding="ascii") as f:
            f.write(json.dumps({"table": name, "batch": key, "counts": counts, "groups": groups}) + "\n")

    def note(self, key: str, w: int) -> None:
        self.by[key] += 1
        self.example.setdefault(key, w)
        self.kept.append(w)

    def add(self, t: IsaTable, oracle: Oracle, words: list[int], texts: bool) -> None:
        """Judges words."""
        mine = [t.form(w) for w in words]
        verdicts = [] if texts else oracle.legal(words)
        # The texts of words that only nvdisasm takes name the missing layout; an illegal one that it does not list has none.
        asked = [
            w
            for i, (w, form) in enumerate(zip(words, mine, strict=True))
            if texts or (verdicts[i] and (form is None or i % PROVED == 0))
        ]
        answers = oracle.ask(asked)
        oracle.known.clear()
        for i, (w, form) in enumerate(zip(words, mine, strict=True)):
            ok = answers[w] is not None if w in answers else verdicts[i]
            opcode = f"{w & 0xFFF | (w >> 91 & 1) << 12:04x}"
            if form is not None and ok:
                self.both += 1
                if texts and not any(e.kind == "L" for o in form.operands for e in o.elems) and t.text(w) != answers[w]:
                    self.text += 1
                    self.note(f"text {opcode} {form.mnemonic}", w)
            elif form is None and not ok:
                self.neither += 1
            elif form is not None:
                if not texts and verdicts[i]:
                    raise SystemExit(f"{w:032x} is illegal and not listed: oracle.UNLISTED lacks {opcode}")
                self.ours += 1
                self.note(f"only the table {opcode} {form.mnemonic} {', '.join(form.skeletons())}", w)
            else:
                self.theirs += 1
                mnemonic, skeletons = Parsed(answers[w] or "").key
                self.note(f"only nvdisasm {opcode} {mnemonic} {', '.join(skeletons)}", w)


def batches(count: int) -> list[int]:
    """The sizes of the batches of so many words."""
    return [min(BATCH, count - start) for start in range(0, count, BATCH)]


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("count", type=int)
    parser.add_argument("--kinds", default="one,two,fields,uniform")
    parser.add_argument("--words", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", action="store_true")
    given = parser.parse_args(argv)
    t = load(given.table)
    oracle = Oracle(given.table.upper().replace("_", ""))
    kept: list[int] = []
    for kind in given.kinds.split(","):
        c = Count()
        start = time.monotonic()
        for batch, size in enumerate(batches(given.count)):
            key = f"{given.seed} {kind} {batch} {size}"
            if not c.restore(given.log, t.name, key):
                before = c.row()
                c.add(t, oracle, KINDS[kind](t, random.Random(key), size), given.texts)
                c.store(given.log, t.name, key, before)
                if given.log:
                    print(
                        f"  {t.name} {kind}: {c.asked} of {given.count} words, {c.share:.4f} % agree, {time.monotonic() - start:.0f} s",
                        flush=True,
                    )
        kept += c.kept
        print(
            f"{t.name} {kind}: {c.asked} words, {c.share:.4f} % agree; legal for both {c.both}, illegal for both {c.neither}, "
            f"only the table {c.ours}, only nvdisasm {c.theirs}; legal with another text {c.text}",
            flush=True,
        )
        for key, k in c.by.most_common(SHOWN):
            print(f"    {k:6} {key}: {c.example[key]:032x}")
        if given.report:
            with given.report.open("a", encoding="ascii") as f:
                f.write(
                    f"| {t.name} | {kind} | {c.asked:,} | {c.share:.4f} % | {c.both:,} | {c.neither:,} | {c.ours} | {c.theirs} |\n"
                )
    if given.words:
        given.words.write_text("".join(f"{w:032x}\n" for w in kept), encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
