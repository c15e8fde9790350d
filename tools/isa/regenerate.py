"""Makes the table of one decoder class again from pinned PyPI packages alone, and prints what changed.

Usage: ``python tools/isa/regenerate.py sm_103 [--empty | --from sm_100] [--rounds N] [--minutes M] [--folder DIR] [--dry-run]``.

Nothing but ``ptxas`` and ``nvdisasm`` (plain processes, in batches) is asked.  Stages, each kept in the folder (default
``build/isa/sm_103``), so that a run that was stopped goes on where it was; delete the folder to start over:

1. words: small kernels, one PTX instruction each (``tests/isa/make_samples.py``), compiled with ptxas;
2. opcodes: all 8,192 of them with random fields, to find those that no kernel uses;
3. start: the class's present forms; with ``--from`` another class's; with ``--empty`` none;
4. check: random words of every form available; forms that print one wrong are dropped;
5. derive: forms for every word that does not print exactly (``derive.py``), from the words of 1 and 2;
6. relatives (not with ``--empty``): the best known forms of every opcode (``harmonize.py``);
7. rounds: words one to three bits off those that are known, random fields, numbers at their ends (``missing.py``), the differing ones again
   to ``derive.py``; no round begins later than ``--minutes`` after the start;
8. limits: fields that do not go together (``dependent.py``), reuse flags and barriers (``reuse.py``);
9. defaults: hidden bits and preferred values from the words of 1 (``refine.py``).
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

import dependent  # noqa: E402
import reuse  # noqa: E402
from derive import derive, read_words, sample  # noqa: E402
from harmonize import harmonize  # noqa: E402
from legality import fields, flipped  # noqa: E402
from missing import corners  # noqa: E402
from oracle import Oracle  # noqa: E402
from probe import CALM, CONTROL, GUARD  # noqa: E402
from refine import refine  # noqa: E402
from tablefile import Record, TableNames, form_text  # noqa: E402
from working import Working  # noqa: E402

from orias.isa.decode import IllegalWord  # noqa: E402
from orias.isa.printer import Printer  # noqa: E402
from tests.isa.make_samples import compile_all  # noqa: E402

FILLERS = 12


def say(text: str, start: float) -> None:
    print(f"[{time.monotonic() - start:6.0f} s] {text}", flush=True)


EDGES = ((16, 8), (24, 8), (32, 8), (40, 24), (64, 8), (72, 12), (81, 3), (84, 3), (87, 4))
"""Fields that some words hold at zero or all ones, where layouts change."""


def words_of_opcodes(oracle: Oracle, rng: random.Random, known: set[int] | None = None) -> list[int]:
    """Legal words of every opcode the decoder knows, those in `known` aside: random fields, in every other word some at their ends."""
    opcodes = [op for op in range(8192) if known is None or op not in known]
    out: list[int] = []
    for block in range(0, len(opcodes), 1024):
        asked = []
        for op in opcodes[block : block + 1024]:
            for k in range(FILLERS):
                w = rng.getrandbits(128)
                for lo, n in EDGES if k & 1 else ():
                    if rng.random() < 0.4:
                        full = (1 << n) - 1 << lo
                        w = w & ~full | rng.choice((0, full, 7 << lo & full))
                w &= ~(CONTROL | GUARD | 0xFFF | 1 << 91)
                asked.append(w | op & 0xFFF | (op >> 12) << 91 | CALM | 7 << 12)
        got = oracle.ask(asked)
        out += [w for w in asked if got[w] is not None]
    return out


def lines(forms: dict[int, list[Record]]) -> set[str]:
    """The forms as text, to compare."""
    names = TableNames({})
    return {f"{op:04x} {' '.join([form_text(op, v, names)[0]])}" for op, vs in forms.items() for v in vs}


def drop_wrong(work: Working, name: str, oracle: Oracle) -> int:
    """Removes the forms that print a random word of theirs otherwise than nvdisasm; returns how many."""
    table = work.table(name)
    printer = Printer(table)
    rng = random.Random(21)
    asked = [(op, i, sample(f, rng, 24)) for op in work.records[name] for i, f in enumerate(table.of_opcode(op))]
    flat = [w for _, _, ws in asked for w in ws]
    got: list[str | None] = []
    for at in range(0, len(flat), 60000):
        got += oracle.ask_in_place(flat[at : at + 60000])
    k = 0
    bad: dict[int, set[int]] = {}
    for op, i, ws in asked:
        for w in ws:
            if got[k] is not None:
                try:
                    if printer.text(w, 16 * (k % 60000), None) != got[k]:
                        bad.setdefault(op, set()).add(i)
                except IllegalWord:
                    bad.setdefault(op, set()).add(i)
            k += 1
    for op, which in bad.items():
        work.records[name][op] = [r for i, r in enumerate(work.records[name][op]) if i not in which]
    return sum(map(len, bad.values()))


class Stages:
    """The folder of a run: words and records of finished stages."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        folder.mkdir(parents=True, exist_ok=True)

    def words(self, stage: str) -> list[int] | None:
        path = self.folder / f"{stage}.words"
        return read_words([str(path)]) if path.exists() else None

    def keep_words(self, stage: str, words: list[int]) -> list[int]:
        (self.folder / f"{stage}.words").write_text("".join(f"{w:032x}\n" for w in words), encoding="ascii")
        return words

    def load(self, stage: str, work: Working) -> bool:
        path = self.folder / f"{stage}.json"
        if not path.exists():
            return False
        data = json.loads(path.read_text(encoding="ascii"))
        work.records[self.name] = {int(op): [_restored(v) for v in forms] for op, forms in data.items()}
        return True

    def keep(self, stage: str, work: Working) -> None:
        (self.folder / f"{stage}.json").write_text(json.dumps(work.records[self.name]), encoding="ascii")


def _restored(v: object) -> Record:
    """A record read from JSON: value tables have numbers as keys again."""

    def walk(x: object) -> object:
        if isinstance(x, list):
            return [walk(y) for y in x]
        if isinstance(x, dict):
            return {int(k) if k.isdigit() else k: walk(y) for k, y in x.items()}
        return x

    out = walk(v)
    assert isinstance(out, dict)
    return out


def regenerate(name: str, empty: bool, donor: str, rounds: int, minutes: float, stages: Stages, work: Working) -> None:
    """Runs all stages on `work`."""
    start = time.monotonic()
    oracle = Oracle(name.upper().replace("_", ""))
    own = stages.words("own") or stages.keep_words("own", sorted(compile_all(name)))
    say(f"{len(own)} words of small kernels", start)
    opcodes = stages.words("opcodes") or stages.keep_words("opcodes", words_of_opcodes(oracle, random.Random(4)))
    say(f"{len(opcodes)} legal words over all opcodes", start)
    if not stages.load("start", work):
        if donor:
            work.records[name] = json.loads(
                json.dumps(work.records[donor]),
                object_hook=lambda d: {int(k) if k.isdigit() else k: v for k, v in d.items()},
            )
        if empty:
            work.records[name] = {}
        dropped = drop_wrong(work, name, oracle)
        say(f"start: {sum(map(len, work.records[name].values()))} forms, {dropped} wrong ones dropped", start)
        stages.keep("start", work)
    failed: dict[object, int] = {}
    if not stages.load("derived", work):
        derive(work, name, sorted({*own, *opcodes}), oracle, failed=failed)
        stages.keep("derived", work)
        say(f"derived: {sum(map(len, work.records[name].values()))} forms", start)
    if not empty and not stages.load("relatives", work):
        harmonize(work, name, own, oracle)
        stages.keep("relatives", work)
        say("relatives compared", start)
    for k in range(rounds):
        if stages.load(f"round{k}", work):
            continue
        if time.monotonic() - start > 60 * minutes:
            say(f"out of time before round {k + 1} of {rounds}", start)
            break
        t = work.isa(name)
        rng = random.Random(100 + k)
        words = flipped(t, rng, 20000) + fields(t, rng, 20000) + corners(t, rng, 20000)
        derive(work, name, words, oracle, rounds=1, failed=failed)
        stages.keep(f"round{k}", work)
        say(f"round {k + 1} of {rounds}", start)
    if not stages.load("limits", work):
        oracle.known.clear()
        dependent.settle(work, name, oracle, 60, 41)
        reuse.settle(work, name, oracle)
        stages.keep("limits", work)
        say("limits", start)
    refine(work, name, own)
    say(f"done, {oracle.runs} runs of the tool", start)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("--from", dest="donor", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args(argv)
    name = given.table
    stages = Stages(given.folder or ROOT / "build" / "isa" / name, name)
    work = Working()
    before = lines(work.records[name])
    regenerate(name, given.empty, given.donor, given.rounds, given.minutes, stages, work)
    after = lines(work.records[name])
    for line in sorted(before - after):
        print("- " + line)
    for line in sorted(after - before):
        print("+ " + line)
    print(f"{name}: {len(before & after)} forms as before, {len(before - after)} gone, {len(after - before)} new")
    if not given.dry_run:
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
