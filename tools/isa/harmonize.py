"""Gives every class the best known list of forms of each opcode.

Usage: ``python tools/isa/harmonize.py sm_100 [WORDS_FILE...]``.  For every opcode of the class the lists of all classes are candidates.  Random words of
all candidates' forms, and the words of the files, are put to the class's decoder; the list with the fewest wrong answers (another text, a
legal word refused, an illegal word printed) wins, and among equals the one that most classes have.  So a form that one class's
derivation got wrong or missed comes from a relative, and classes differ in the table only where their decoders do.
"""

import copy
import json
import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import read_words, sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from tablefile import CLASSES, Record  # noqa: E402
from working import Working  # noqa: E402

from orias.isa.decode import IllegalWord  # noqa: E402
from orias.isa.printer import Printer  # noqa: E402

PER_FORM = 40
REAL = 3000
FACTS = ("mn", "mask", "val", "not", "mods", "ops", "bar", "guard", "alias", "pow2", "results")


def essence(forms: list[Record]) -> str:
    """A list of forms without what ptxas prefers."""
    return json.dumps([{k: r.get(k) for k in FACTS} for r in forms], sort_keys=True)


def harmonize(work: Working, name: str, words: list[int], oracle: Oracle, near: tuple[str, ...] = CLASSES) -> int:
    """Changes `work`; returns how many opcodes got another list."""
    rng = random.Random(11)
    seen: dict[int, list[int]] = {}
    for w in words:
        seen.setdefault(w & 0xFFF | (w >> 91 & 1) << 12, []).append(w)
    tables = {c: work.table(c) for c in near if (int(c[3:]) >= 100) == (int(name[3:]) >= 100)}
    jobs: list[tuple[int, list[str], list[int]]] = []
    for opcode in sorted({op for c in tables for op in work.records[c]}):
        lists: dict[str, str] = {}
        for c in (name, *tables):
            forms = work.records[c].get(opcode)
            if forms:
                lists.setdefault(essence(forms), c)
        if len(lists) > 1 or name not in lists.values():
            asked = [w for c in lists.values() for f in tables[c].of_opcode(opcode) for w in sample(f, rng, PER_FORM)]
            real = seen.get(opcode, [])
            asked += rng.sample(real, min(REAL, len(real)))
            jobs.append((opcode, list(lists.values()), asked))
    answers: list[str | None] = []
    flat = [w for _, _, asked in jobs for w in asked]
    for start in range(0, len(flat), 60000):
        answers += oracle.ask_in_place(flat[start : start + 60000])
    at = changed = 0
    for opcode, donors, asked in jobs:
        # Addresses count from the start of the batch that held the word.
        places = range(at, at + len(asked))
        at += len(asked)
        scores = []
        for c in donors:
            printer = Printer(tables[c])
            wrong = 0
            for k, w in zip(places, asked, strict=True):
                try:
                    mine: str | None = printer.text(w, 16 * (k % 60000), None)
                except IllegalWord:
                    mine = None
                wrong += mine != answers[k]
            scores.append(wrong)
        legal = sum(answers[k] is not None for k in places)
        votes = Counter(essence(work.records[c].get(opcode, [])) for c in tables)
        best = min(scores)
        own = scores[donors.index(name)] if name in donors else legal
        if best < own:
            winners = [c for c, s in zip(donors, scores, strict=True) if s == best]
            winner = max(winners, key=lambda c: votes[essence(work.records[c][opcode])])
            print(
                f"  {opcode:04x} {work.records[winner][opcode][0]['mn']}: {own} wrong of {len(asked)}, {best} with the forms of {winner}"
            )
            mine_forms = work.records[name].get(opcode, [])
            new = copy.deepcopy(work.records[winner][opcode])
            if not mine_forms:
                for r in new:
                    r["n"] = 0
            work.records[name][opcode] = new
            changed += 1
    print(f"{name}: {len(jobs)} opcodes compared, {changed} changed", flush=True)
    return changed


def main(argv: list[str]) -> None:
    work = Working()
    oracle = Oracle(argv[0].upper().replace("_", ""))
    if harmonize(work, argv[0], read_words(argv[1:]), oracle):
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
