"""Finds which values of a form do not go together, and writes them as exclusions (``unless``).

Usage: ``python tools/isa/unless.py sm_90 [--count N] [--rounds N] [OPCODE ...]``.  Random words of every form are put to nvdisasm.  Where some are illegal:

1. 400 words of the form are asked; a set of up to five bits that an illegal word has and no legal one is a proposal;
2. a proposal is an exclusion if nvdisasm refuses all of 24 more words of the form that have these bits;
3. again, until no word is illegal or nothing is found.

Bits are those of modifier fields, those that no text shows, and the low two of register numbers.  An exclusion inside one modifier
field takes the values out of the field's list instead.  Exclusions that another class has for the same layout are proposed first, so
that classes which agree keep one line.
"""

import argparse
import random
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from refine import form_bits  # noqa: E402
from tablefile import CLASSES, Record  # noqa: E402
from values import layout, pieces_of  # noqa: E402
from working import Working, form_of  # noqa: E402

from orias.isa.notation import H_FIELD, parse_bits  # noqa: E402
from orias.isa.rawtable import Form  # noqa: E402

FIELDS = ((1 << 105) - 1) & ~0xFFFF & ~(1 << 91)
SAMPLE = 400
PROOF = 24
"""Words that nvdisasm must refuse before an exclusion counts."""
SIZES = ((1, 40), (2, 40), (3, 30), (4, 20), (5, 16))
"""How many bits an exclusion may have, and of how many of the form's bits."""
PROPOSALS = 12

Cube = tuple[int, int]


def deciding(form: Form) -> list[int]:
    """The bits of a form that may decide: of modifier fields, hidden ones, the low two of register numbers."""
    mods = form_bits(form)
    low = 0
    for o in form.operands:
        for e in o.elems:
            if e.kind in "RU" and e.how == H_FIELD:
                low |= 3 << e.lo
    hidden = form.hidden & FIELDS
    return [b for m in (mods, low & ~mods, hidden & ~low & ~mods) for b in range(105) if (m & ~form.mask) >> b & 1]


def propose(bits: list[int], legal: list[int], illegal: list[int]) -> list[Cube]:
    """Sets of bits that illegal words have and no legal word has, few for each illegal word; those that explain most come first."""
    ones = {b: sum(1 << i for i, w in enumerate(legal) if w >> b & 1) for b in bits}
    full = (1 << len(legal)) - 1
    out: list[Cube] = []
    left = list(illegal)
    while left and len(out) < PROPOSALS:
        bad = left[0]
        agree = {b: ones[b] if bad >> b & 1 else full & ~ones[b] for b in bits}
        found: list[Cube] = []
        for size, most in SIZES:
            for s in combinations(bits[:most], size):
                same = full
                for b in s:
                    same &= agree[b]
                if not same:
                    m = sum(1 << b for b in s)
                    found.append((m, bad & m))
            if found:
                break
        found.sort(key=lambda c: -sum(w & c[0] == c[1] for w in illegal))
        out += found[:3]
        left = [w for w in left[1:] if not any(w & m == v for m, v in found[:1])]
    return out


class Job:
    """One form of a class."""

    def __init__(self, name: str, opcode: int, record: Record, before: list[Form], rng: random.Random) -> None:
        self.name = name
        self.opcode = opcode
        self.record = record
        self.before = before
        self.rng = rng
        self.form = form_of(opcode, record, name)
        self.found: list[str] = []
        self.proposed: list[Cube] = []
        self.legal: list[int] = []
        self.illegal: list[int] = []

    def own(self, w: int) -> bool:
        """Whether a word takes this form."""
        return (
            self.form.matches(w) and shown(self.form, w) and not any(f.matches(w) and shown(f, w) for f in self.before)
        )

    def words(self, count: int) -> list[int]:
        return [w for w in sample(self.form, self.rng, count) if self.own(w)]

    def inside(self, cube: Cube, count: int) -> list[int]:
        m, v = cube
        return [w for x in sample(self.form, self.rng, count) if self.own(w := x & ~m | v)]

    def add(self, cube: Cube) -> None:
        """Writes an exclusion into the record."""
        m, v = cube
        for pieces in pieces_of(self.record).values():
            for p in pieces:
                bits = 0
                if not isinstance(p, str):
                    bits = sum(1 << b for b in parse_bits(p[0]))
                if m & ~bits == 0:
                    order = parse_bits(p[0])
                    for k in list(p[1]):
                        w = sum((int(k) >> i & 1) << b for i, b in enumerate(order))
                        if w & m == v:
                            del p[1][k]
        self.record.setdefault("not", []).append([f"{m:x}", f"{v:x}"])
        self.found.append(condition(m, v))
        self.form = form_of(self.opcode, self.record, self.name)

    def tidy(self) -> None:
        """Exclusions that the value lists say go, and those that another holds."""
        for_pieces = [
            sum(1 << b for b in parse_bits(p[0]))
            for ps in pieces_of(self.record).values()
            for p in ps
            if not isinstance(p, str)
        ]
        nots = [(int(m, 16), int(v, 16)) for m, v in self.record.get("not", ())]
        kept = []
        for i, (m, v) in enumerate(nots):
            wider = any(j != i and a & ~m == 0 and v & a == b and (a != m or j < i) for j, (a, b) in enumerate(nots))
            said = condition(m, v) in self.found and any(m & ~bits == 0 for bits in for_pieces)
            if not wider and not said:
                kept.append((m, v))
        self.record["not"] = [[f"{m:x}", f"{v:x}"] for m, v in kept]


def condition(m: int, v: int) -> str:
    return ",".join(f"{b}={v >> b & 1}" for b in range(128) if m >> b & 1)


def shown(form: Form, w: int) -> bool:
    """Whether every modifier of a form has a text in a word."""
    return all(p.show(w) is not None for p in form.pieces())


def unless(work: Working, name: str, oracle: Oracle, count: int, rounds: int, only: set[int]) -> int:
    """Changes `work`; returns how many forms changed."""
    rng = random.Random(23)
    jobs = []
    others: dict[Any, list[Cube]] = {}
    for c in CLASSES:
        if c != name:
            for opcode, records in work.records[c].items():
                for r in records:
                    cubes = others.setdefault((opcode, layout(r)), [])
                    cubes += [x for m, v in r.get("not", ()) if (x := (int(m, 16), int(v, 16))) not in cubes]
    for opcode, records in work.records[name].items():
        if only and opcode not in only:
            continue
        forms = [form_of(opcode, r, name) for r in records]
        for i, r in enumerate(records):
            j = Job(name, opcode, r, forms[:i], rng)
            own = {(int(m, 16), int(v, 16)) for m, v in r.get("not", ())}
            j.proposed = [x for x in others.get((opcode, layout(r)), []) if x not in own]
            jobs.append(j)
    doubtful = judged(jobs, oracle, count)
    print(f"{name}: {len(doubtful)} of {len(jobs)} forms hold illegal words", flush=True)
    gone = 0
    prove(doubtful, {id(j): j.proposed for j in doubtful}, oracle)
    left = judged(doubtful, oracle, SAMPLE)
    for j in left:
        if not j.legal and len(j.illegal) >= SAMPLE // 4 and not j.record["n"]:
            work.records[name][j.opcode].remove(j.record)
            print(f"  {j.opcode:04x} {layout(j.record)}: goes, none of {len(j.illegal)} words is legal")
            gone += 1
    for k in range(rounds):
        left = [j for j in (judged(left, oracle, SAMPLE) if k else left) if j.legal]
        proposed = {id(j): propose(deciding(j.form), j.legal, j.illegal) for j in left}
        left = prove(left, proposed, oracle)
        print(f"  round {k + 1}: {len(left)} forms with new exclusions, {oracle.runs} runs of the tool", flush=True)
    for j in doubtful:
        j.tidy()
        if j.found:
            print(f"  {j.opcode:04x} {layout(j.record)}: unless {' or '.join(j.found)}")
    for j in left:
        print(
            f"  {j.opcode:04x} {layout(j.record)}: {len(j.illegal)} of {len(j.illegal) + len(j.legal)} words were illegal in the last round"
        )
    changed = sum(bool(j.found) for j in doubtful)
    print(f"{name}: {changed} forms changed, {oracle.runs} runs of the tool", flush=True)
    return changed + gone


def judged(jobs: list[Job], oracle: Oracle, count: int) -> list[Job]:
    """Asks for random words of every form; returns the forms with illegal ones."""
    asked = {id(j): j.words(count) for j in jobs}
    answers = oracle.ask([w for ws in asked.values() for w in ws])
    oracle.known.clear()
    for j in jobs:
        j.legal = [w for w in asked[id(j)] if answers[w] is not None]
        j.illegal = [w for w in asked[id(j)] if answers[w] is None]
    return [j for j in jobs if j.illegal]


def prove(jobs: list[Job], cubes: dict[int, list[Cube]], oracle: Oracle) -> list[Job]:
    """Adds the proposals that hold; returns the forms that got one."""
    asked = {(id(j), c): j.inside(c, 3 * PROOF)[:PROOF] for j in jobs for c in cubes[id(j)]}
    answers = oracle.ask([w for ws in asked.values() for w in ws])
    oracle.known.clear()
    out = []
    for j in jobs:
        count = len(j.found)
        for c in cubes[id(j)]:
            words = asked[id(j), c]
            if len(words) >= PROOF // 3 and all(answers[w] is None for w in words) and any(map(j.own, words)):
                j.add(c)
        if len(j.found) > count:
            out.append(j)
    return out


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("opcodes", nargs="*")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args(argv)
    work = Working()
    only = {int(x, 16) for x in given.opcodes}
    oracle = Oracle(given.table.upper().replace("_", ""))
    if unless(work, given.table, oracle, given.count, given.rounds, only):
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
