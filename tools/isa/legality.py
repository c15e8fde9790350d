"""Agreement with nvdisasm on what is an instruction, over random words.

Usage: ``python tools/isa/legality.py sm_90 COUNT [--words FILE] [--report FILE]``.  Three populations of COUNT words each:

* flipped: committed sample words (``tests/isa/words_*.txt``) and random words of every form, with one to three bits flipped anywhere;
* fields: an opcode of the table, harmless control bits, everything else random;
* uniform: 128 random bits.

Both directions are counted: words that only the table takes, and words that only nvdisasm takes.  ``--words`` takes all
differing words, for ``derive.py``; ``--report`` adds rows by mnemonic in Markdown.
"""

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from probe import CALM, CONTROL, GUARD  # noqa: E402

from orias.isa.table import IsaTable, load  # noqa: E402

BATCH = 50000


def flipped(t: IsaTable, rng: random.Random, count: int) -> list[int]:
    """Words that ptxas writes and words of all forms, one to three bits off."""
    rows = (ROOT / "tests" / "isa" / f"words_{t.name}.txt").read_text(encoding="ascii").splitlines()
    base = [int(row[:32], 16) for row in rows]
    for f in t.raw.forms():
        base += sample(f, rng, 2)
    out = []
    for _ in range(count):
        w = rng.choice(base)
        for _ in range(rng.choice((1, 1, 2, 3))):
            w ^= 1 << rng.randrange(128)
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


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("count", type=int)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    t = load(given.table)
    kept: list[int] = []
    for make in (flipped, fields, uniform):
        rng = random.Random(given.seed)
        words = make(t, rng, given.count)
        both = neither = ours = theirs = 0
        text = 0
        by: Counter[str] = Counter()
        example: dict[str, int] = {}
        for start in range(0, len(words), BATCH):
            part = words[start : start + BATCH]
            got = Oracle(given.table.upper().replace("_", "")).ask(part)
            for w in part:
                form = t.form(w)
                ref = got[w]
                if ref is None and form is None:
                    neither += 1
                elif ref is not None and form is not None:
                    both += 1
                    if not any(e.kind == "L" for o in form.operands for e in o.elems) and t.text(w) != ref:
                        text += 1
                        kept.append(w)
                        key = f"text {form.mnemonic}"
                        by[key] += 1
                        example.setdefault(key, w)
                else:
                    kept.append(w)
                    if form is not None:
                        ours += 1
                        key = f"only the table {form.opcode:04x} {form.mnemonic}"
                    else:
                        theirs += 1
                        name = (ref or "").split("@")[-1]
                        key = f"only nvdisasm {w & 0xFFF | (w >> 91 & 1) << 12:04x} {name.split('.')[0][:24]}"
                    by[key] += 1
                    example.setdefault(key, w)
        n = len(words)
        line = (
            f"{t.name} {make.__name__}: {n} words, {100 * (both + neither) / n:.3f} % agree; legal for both {both}, illegal for both "
            f"{neither}, only the table {ours}, only nvdisasm {theirs}; legal with another text {text}"
        )
        print(line, flush=True)
        for key, k in by.most_common(25):
            print(f"    {k:6} {key}: {example[key]:032x}")
        if given.report:
            with given.report.open("a", encoding="ascii") as f:
                f.write(
                    f"| {t.name} | {make.__name__} | {n:,} | {100 * (both + neither) / n:.3f} % | {both} | {neither} | {ours} | {theirs} | {text} |\n"
                )
    if given.words:
        given.words.write_text("".join(f"{w:032x}\n" for w in kept), encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
