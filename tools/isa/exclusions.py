"""Narrows the exclusions (``unless``) of forms that keep out words which nvdisasm prints in their layout.

Usage: ``python tools/isa/exclusions.py sm_90 [sm_89 ...]``.  Of all classes but the first, only the forms that changed in the first are looked at.  For every exclusion, random words of the form in which it holds are put to nvdisasm.  If all legal
ones have the form's layout, the exclusion goes; if one more bit decides (the ``!`` of a predicate that is left out only when
it is PT, not when it is !PT), the exclusion gets that bit.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle, Parsed  # noqa: E402
from probe import PROBED  # noqa: E402
from tablefile import CLASSES, Record  # noqa: E402
from values import layout  # noqa: E402
from working import Working, form_of  # noqa: E402

WORDS = 24
Condition = tuple[int, int]
Form = tuple[int, tuple[str, tuple[str, ...]]]
"""Opcode and layout."""


class Job:
    """One form with words inside each of its exclusions."""

    def __init__(self, name: str, opcode: int, record: Record, rng: random.Random) -> None:
        self.opcode = opcode
        self.record = record
        self.key = layout(record)
        self.nots: list[Condition] = [(int(m, 16), int(v, 16)) for m, v in record.get("not", [])]
        free = form_of(opcode, record | {"not": []}, name)
        inside: list[list[int]] = []
        for m, v in self.nots:
            words = [w & ~m | v for w in sample(free, rng, WORDS)]
            others = [x for x in self.nots if x != (m, v)]
            inside.append([w for w in words if free.matches(w) and not any(w & a == b for a, b in others)])
        self.inside = inside

    def words(self) -> list[int]:
        return [w for ws in self.inside for w in ws]

    def settle(self, answers: dict[int, str | None]) -> list[str]:
        """Changes the record; returns what changed."""
        out = []
        nots: list[Condition] = []
        for (m, v), words in zip(self.nots, self.inside, strict=True):
            legal = [(w, Parsed(t).key == self.key) for w in words if (t := answers[w]) is not None]
            mine = [w for w, own in legal if own]
            others = [w for w, own in legal if not own]
            if len(legal) < 4 or not mine:
                nots.append((m, v))
                continue
            if not others:
                out.append(f"{m:x}={v:x} goes")
                continue
            ones = ~0
            zeros = ~0
            for w in mine:
                ones &= w
                zeros &= ~w
            for w in others:
                ones &= ~w
                zeros &= w
            deciding = [b for b in PROBED if (ones | zeros) >> b & 1]
            if len(deciding) == 1 and len(mine) >= 3 and len(others) >= 3:
                b = deciding[0]
                nots.append((m | 1 << b, v | (0 if ones >> b & 1 else 1 << b)))
                out.append(f"{m:x}={v:x} needs bit {b}")
            else:
                nots.append((m, v))
        self.record["not"] = [[f"{m:x}", f"{v:x}"] for m, v in nots]
        return out


def settle(work: Working, name: str, oracle: Oracle, only: set[Form] | None = None) -> set[Form]:
    """Changes `work`; returns the forms (opcode and layout) that changed, out of those of `only`."""
    rng = random.Random(17)
    jobs = [
        Job(name, opcode, r, rng)
        for opcode, rs in work.records[name].items()
        for r in rs
        if only is None or (opcode, layout(r)) in only
    ]
    changed: set[Form] = set()
    answers = oracle.ask([w for j in jobs for w in j.words()])
    for j in jobs:
        found = j.settle(answers)
        if found:
            changed.add((j.opcode, j.key))
            print(f"  {j.opcode:04x} {j.key}: {'; '.join(found)}")
    print(f"{name}: {len(changed)} of {len(jobs)} forms changed", flush=True)
    return changed


def main(argv: list[str]) -> None:
    work = Working()
    only: set[Form] | None = None
    for name in argv or CLASSES:
        found = settle(work, name, Oracle(name.upper().replace("_", "")), only)
        only = found if only is None else only
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
