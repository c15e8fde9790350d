"""Finds the values of fields that do not go together, and excludes them (``unless``).

Usage: ``python tools/isa/dependent.py sm_90 [COUNT]``.  COUNT random words (default 60) of every form are put to nvdisasm.  Of words that it refuses, every bit is
flipped and every modifier changed: those that make the word legal are the fields that decide.  Then all values of these together are
asked in several words of the form; what is illegal in all of them becomes exclusions.  A form that compiler output never took and of which no
word is legal goes.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from tablefile import Record  # noqa: E402
from working import Working  # noqa: E402

from orias.isa.isa_table import IsaTable  # noqa: E402
from orias.isa.notation import Piece  # noqa: E402
from orias.isa.rawtable import Form  # noqa: E402

LOOKED_AT = 5
"""Illegal words of a form whose bits are flipped."""
CONTEXTS = 7
MAX_BITS = 10
MIN_JUDGED = 3
"""Words that must agree that a value is illegal."""


def pieces(form: Form) -> list[Piece]:
    """The modifier fields of a form."""
    return [p for p in form.pieces() if p.bits]


class Job:
    """One form with words that only the table takes."""

    def __init__(self, opcode: int, record: Record, form: Form, bad: list[int]) -> None:
        self.opcode = opcode
        self.record = record
        self.form = form
        self.bad = bad
        self.deciding: set[tuple[int, ...]] = set()

    def changes(self, w: int) -> list[tuple[tuple[int, ...], int]]:
        """(bits, word) of all words next to one."""
        free = [b for b in range(16, 105) if b != 91 and not self.form.mask >> b & 1]
        out: list[tuple[tuple[int, ...], int]] = [((b,), w ^ 1 << b) for b in free]
        for p in pieces(self.form):
            if len(p.bits) > 1:
                out += [(p.bits, w & ~p.mask | p.place(v)) for v in list(p.values)[:64] if p.place(v) != w & p.mask]
        return out

    def look(self, t: IsaTable, legal: dict[int, bool]) -> None:
        """Takes the bits that make the illegal words legal."""
        for w in self.bad[:LOOKED_AT]:
            found: set[int] = set()
            for bits, x in self.changes(w):
                if legal[x]:
                    found |= set(bits)
            if 0 < len(found) <= MAX_BITS:
                self.deciding.add(tuple(sorted(found)))


def put(w: int, bits: tuple[int, ...], v: int) -> int:
    for i, b in enumerate(bits):
        w = w & ~(1 << b) | (v >> i & 1) << b
    return w


def cubes(bits: tuple[int, ...], wanted: set[int], free: set[int]) -> list[tuple[int, int]]:
    """Conditions (mask, value over the word) that hold for all values of `wanted`, maybe for some of `free`, and for no others."""
    out = []
    left = set(wanted)
    inside = wanted | free
    for start in sorted(wanted):
        if start not in left:
            continue
        fixed = list(range(len(bits)))
        cells = {start}
        for i in range(len(bits)):
            more = {c ^ 1 << i for c in cells}
            if more <= inside:
                cells |= more
                fixed.remove(i)
        left -= cells
        out.append((sum(1 << bits[i] for i in fixed), sum(1 << bits[i] for i in fixed if start >> i & 1)))
    return out


def exclude(
    job: Job, t: IsaTable, bits: tuple[int, ...], words: list[int], legal: dict[int, bool]
) -> list[tuple[int, int]]:
    """The conditions under which words of a form are illegal, out of all values of some bits in several words."""
    n = 1 << len(bits)
    bad: dict[int, int] = {}
    good: set[int] = set()
    seen: set[int] = set()
    for c in words:
        row = [put(c, bits, v) for v in range(n)]
        if not any(legal[w] for w in row):
            continue
        for v, w in enumerate(row):
            if t.form(w) is job.form:
                seen.add(v)
                if legal[w]:
                    good.add(v)
                else:
                    bad[v] = bad.get(v, 0) + 1
    wanted = {v for v, k in bad.items() if v not in good and k >= MIN_JUDGED}
    return cubes(bits, wanted, set(range(n)) - seen) if wanted else []


def settle(work: Working, name: str, oracle: Oracle, count: int, seed: int) -> int:
    """Changes `work`; returns how many forms changed."""
    rng = random.Random(seed)
    t = work.isa(name)
    jobs: list[Job] = []
    drawn: list[tuple[int, Record, Form, list[int]]] = []
    for opcode, records in work.records[name].items():
        for record, form in zip(records, t.raw.of_opcode(opcode), strict=True):
            drawn.append((opcode, record, form, [w for w in sample(form, rng, count) if t.form(w) is form]))
    answers = oracle.ask([w for *_, ws in drawn for w in ws])
    gone = 0
    for opcode, record, form, ws in drawn:
        bad = [w for w in ws if answers[w] is None]
        if len(bad) == len(ws) >= 30 and not record["n"]:
            print(f"  {opcode:04x} {form.mnemonic} {form.skeletons()}: no word is legal, goes")
            work.records[name][opcode] = [r for r in work.records[name][opcode] if r is not record]
            gone += 1
        elif bad:
            jobs.append(Job(opcode, record, form, bad))
    print(f"{name}: {len(jobs)} forms with illegal words", flush=True)
    asked = oracle.ask([x for j in jobs for w in j.bad[:LOOKED_AT] for _, x in j.changes(w)])
    legal = {w: text is not None for w, text in asked.items()}
    for j in jobs:
        j.look(t, legal)
    changed = 0
    for start in range(0, len(jobs), 20):
        part = jobs[start : start + 20]
        contexts = {
            (id(j), bits): sample(j.form, rng, CONTEXTS) + j.bad[:3] for j in part for bits in sorted(j.deciding)
        }
        want = [put(c, bits, v) for (_, bits), ws in contexts.items() for c in ws for v in range(1 << len(bits))]
        legal = {w: text is not None for w, text in oracle.ask(want).items()}
        oracle.known.clear()
        for j in part:
            found: list[tuple[int, int]] = []
            for bits in sorted(j.deciding):
                found += exclude(j, t, bits, contexts[id(j), bits], legal)
            new = [[f"{m:x}", f"{v:x}"] for m, v in dict.fromkeys(found)]
            new = [x for x in new if x not in j.record["not"]]
            if new:
                j.record["not"] = simplest([*j.record["not"], *new])
                changed += 1
                print(f"  {j.opcode:04x} {j.form.mnemonic} {j.form.skeletons()}: {len(new)} exclusions", flush=True)
            elif not j.deciding:
                print(
                    f"  {j.opcode:04x} {j.form.mnemonic} {j.form.skeletons()}: {len(j.bad)} bad, e.g. {j.bad[0]:032x}"
                )
    print(f"{name}: {changed} forms changed, {gone} gone", flush=True)
    return changed + gone


def simplest(nots: list[list[str]]) -> list[list[str]]:
    """Exclusions without those that another one holds."""
    pairs = [(int(m, 16), int(v, 16)) for m, v in nots]
    out = []
    for i, (m, v) in enumerate(pairs):
        if not any(
            k != i and a & ~m == 0 and v & a == b and ((a, b) != (m, v) or k < i) for k, (a, b) in enumerate(pairs)
        ):
            out.append([f"{m:x}", f"{v:x}"])
    return out


def main(argv: list[str]) -> None:
    work = Working()
    count = int(argv[1]) if len(argv) > 1 else 60
    if settle(work, argv[0], Oracle(argv[0].upper().replace("_", "")), count, 41):
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
