"""Which values the modifier fields of every form take, asked of nvdisasm.

Usage: ``python tools/isa/values.py [sm_90 ...]``.  Every value of every field of up to 12 bits is put into legal words of its form:

* a value that is legal in all of them, in the form's layout and with one text, belongs to the field's list (with that text);
* a value that is illegal in all of them, or always gives another layout, and in 60 more random words of the form, does not.

Values that go with some words only are left as they are; ``unless.py`` finds what they exclude.
"""

import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle, Parsed  # noqa: E402
from probe import Place, places  # noqa: E402
from tablefile import CLASSES, Record  # noqa: E402
from working import Working  # noqa: E402

from orias.isa.isa_table import IsaTable  # noqa: E402
from orias.isa.notation import parse_bits  # noqa: E402
from orias.isa.rawtable import Form  # noqa: E402

MAX_BITS = 12
Pieces = dict[Place, list[Any]]
View = dict[Place, str]


def layout(r: Record) -> tuple[str, tuple[str, ...]]:
    """The key of :class:`oracle.Parsed` that texts of a record have."""
    skeletons = []
    for o in r["ops"]:
        s = o["s"]
        skeletons.append(s.replace("]{U}", "]") if o["el"] and o["el"][-1].get("hid") else s)
    return r["mn"], tuple(skeletons)


def pieces_of(r: Record) -> Pieces:
    """The pieces of a record by their place in the text; the lists are the record's own."""
    out: Pieces = {("mods",): r["mods"]}
    for i, o in enumerate(r["ops"]):
        out[i, "pre"] = o["pre"]
        out[i, "post"] = o["post"]
        for j, e in enumerate(o["el"]):
            if "w" in e:
                out[i, j, "word"] = e["w"]
            else:
                out[i, j, "suf"] = e.get("suf", [])
    return out


def read(bits: str, w: int) -> int:
    return sum((w >> b & 1) << i for i, b in enumerate(parse_bits(bits)))


def put(bits: str, w: int, value: int) -> int:
    for i, b in enumerate(parse_bits(bits)):
        w = w & ~(1 << b) | (value >> i & 1) << b
    return w


def show(p: Any, w: int) -> str | None:
    """The text of a piece in a word."""
    if isinstance(p, str):
        return p
    found: str | None = p[1].get(read(p[0], w))
    return found


def rest_of(parts: list[Any], k: int, w: int, whole: str, dotted: bool) -> str | None:
    """What piece `k` of a place says in a word whose text at the place is `whole`; None if the others do not fit."""
    before = [show(p, w) for p in parts[:k]]
    behind = [show(p, w) for p in parts[k + 1 :]]
    if None in before or None in behind:
        return None
    if not dotted:
        a, b = "".join(x or "" for x in before), "".join(x or "" for x in behind)
        if not whole.startswith(a) or not whole.endswith(b) or len(whole) < len(a) + len(b):
            return None
        return whole[len(a) : len(whole) - len(b)]
    tokens = whole.split(".") if whole else []
    first = ".".join(x for x in before if x)
    last = ".".join(x for x in behind if x)
    n = len(first.split(".")) if first else 0
    m = len(last.split(".")) if last else 0
    if n + m > len(tokens) or ".".join(tokens[:n]) != first or ".".join(tokens[len(tokens) - m :]) != last:
        return None
    return ".".join(tokens[n : len(tokens) - m])


class Job:
    """One form: contexts and the questions about its fields."""

    def __init__(self, opcode: int, index: int, record: Record, form: Form) -> None:
        self.opcode = opcode
        self.index = index
        self.record = record
        self.form = form
        self.key = layout(record)
        self.contexts: list[int] = []
        self.doubted: dict[tuple[str, int], list[int]] = {}
        self.pieces = pieces_of(record)
        self.fields: dict[str, list[tuple[Place, int]]] = defaultdict(list)
        for place, parts in self.pieces.items():
            for k, p in enumerate(parts):
                if not isinstance(p, str) and len(parse_bits(p[0])) <= MAX_BITS:
                    self.fields[p[0]].append((place, k))

    def words(self) -> list[int]:
        out = []
        for bits in self.fields:
            n = len(parse_bits(bits))
            for c in self.contexts[: 2 if n > 7 else None]:
                out += [put(bits, c, v) for v in range(1 << n)]
        return out

    def prints(self, text: str | None) -> View | None:
        """The text by place, None if it is of another layout."""
        p = None if text is None else Parsed(text)
        return places(p) if p is not None and p.key == self.key else None

    def again(self, rng: random.Random) -> list[int]:
        """More words that decide about values that look illegal."""
        words = []
        for bits, v in self.doubted:
            more = [put(bits, w, v) for w in sample(self.form, rng, 60)]
            self.doubted[bits, v] = more
            words += more
        return words

    def drop(self, answers: dict[int, str | None]) -> int:
        """Takes away the values that no word confirms."""
        gone = 0
        for (bits, v), words in self.doubted.items():
            if any(self.prints(answers[w]) is not None for w in words):
                continue
            for place, k in self.fields[bits]:
                gone += self.pieces[place][k][1].pop(v, None) is not None
        return gone

    def settle(self, answers: dict[int, str | None]) -> tuple[int, int]:
        """Changes the record; returns how many values were added and given another text."""
        added = other = 0
        changes: list[tuple[dict[int, str], int, str]] = []
        for bits, where in self.fields.items():
            n = len(parse_bits(bits))
            contexts = self.contexts[: 2 if n > 7 else None]
            if len(contexts) < 2:
                continue
            for v in range(1 << n):
                words = [put(bits, c, v) for c in contexts]
                views = [self.prints(answers[w]) for w in words]
                if all(x is None for x in views):
                    if any(v in self.pieces[place][k][1] for place, k in where):
                        self.doubted[bits, v] = []
                    continue
                if any(x is None for x in views):
                    continue
                for place, k in where:
                    parts = self.pieces[place]
                    texts = {
                        rest_of(parts, k, w, view.get(place, ""), place == ("mods",))
                        for w, view in zip(words, views, strict=True)
                        if view is not None
                    }
                    if len(texts) != 1 or None in texts:
                        continue
                    text = texts.pop()
                    assert text is not None
                    old = parts[k][1].get(v)
                    if (old is not None and old.removeprefix("|") == text) or not all(
                        c.isalnum() or c in "._?-~!|" for c in text
                    ):
                        continue
                    added += old is None
                    other += old is not None
                    changes.append((parts[k][1], v, text))
        for values, v, text in changes:
            values[v] = text
        return added, other


def contexts(jobs: list[Job], table: IsaTable, oracle: Oracle, rng: random.Random) -> None:
    """Gives every job legal words of its form, up to four."""
    found = {id(j): [w for w in sample(j.form, rng, 14) if table.form(w) is j.form] for j in jobs}
    answers = oracle.ask([w for ws in found.values() for w in ws])
    for j in jobs:
        for w in found[id(j)]:
            t = answers[w]
            if t is not None and len(j.contexts) < 4 and Parsed(t).key == j.key:
                j.contexts.append(w)


def settle(work: Working, name: str, oracle: Oracle) -> int:
    """Changes `work`; returns how many forms changed."""
    table = work.isa(name)
    jobs = [
        Job(opcode, i, work.records[name][opcode][i], form)
        for opcode in work.records[name]
        for i, form in enumerate(table.raw.of_opcode(opcode))
    ]
    rng = random.Random(7)
    contexts(jobs, table, oracle, rng)
    jobs = [j for j in jobs if len(j.contexts) >= 2]
    changed = added = gone = other = 0
    for start in range(0, len(jobs), 100):
        part = jobs[start : start + 100]
        answers = oracle.ask([w for j in part for w in j.words()])
        settled = [j.settle(answers) for j in part]
        answers = oracle.ask([w for j in part for w in j.again(rng)])
        for j, (a, o) in zip(part, settled, strict=True):
            g = j.drop(answers)
            if a or g or o:
                changed += 1
                print(f"  {j.opcode:04x} {j.key}: {a} values added, {g} taken away, {o} renamed")
            added, gone, other = added + a, gone + g, other + o
        oracle.known.clear()
        print(f"{name}: {start + len(part)} of {len(jobs)} forms", flush=True)
    print(f"{name}: {changed} forms changed: {added} values added, {gone} taken away, {other} renamed", flush=True)
    return changed


def main(argv: list[str]) -> None:
    work = Working()
    for name in argv or CLASSES:
        settle(work, name, Oracle(name.upper().replace("_", "")))
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
