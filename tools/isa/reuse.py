"""Which reuse flags (bits 122 to 124) and barriers (bits 110 to 115) a form may have, asked of nvdisasm.

Usage: ``python tools/isa/reuse.py [sm_90 ...]``.  A form takes the flags of some slots, or any (``loose-reuse``: those that take all of
flags 1 to 5 although they name no slot); registers at the place of a slot get its mark or lose it.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from tablefile import CLASSES, Record  # noqa: E402
from working import Working  # noqa: E402

from orias.isa.rawtable import ANY_REUSE  # noqa: E402

FLAGS = 7 << 122
BARRIERS = {7 << 110: "w", 7 << 113: "r"}
PLACES = {24: 1, 32: 2, 64: 4}
"""Flag of a register by its place."""
LOOSE = {0, 1, 2, 3, 4, 5}


def mark(r: Record, flags: int) -> None:
    """Gives the record's registers the marks of the flags."""
    left = flags
    for o in r["ops"]:
        for e in o["el"]:
            if e.get("r", -1) >= 122:
                flag = 1 << e["r"] - 122
            elif o["s"][:3] == "{R}" and "f" in e and not e.get("hid"):
                flag = PLACES.get(int(e["f"].partition("+")[0]), 0)
            else:
                continue
            if left & flag:
                left &= ~flag
                e["r"] = flag.bit_length() + 121
            elif "r" in e:
                del e["r"]


def settle(work: Working, name: str, oracle: Oracle) -> int:
    """Changes `work`; returns how many forms changed."""
    rng = random.Random(31)
    table = work.table(name)
    jobs = [
        (opcode, i, form, sample(form, rng, 5))
        for opcode in work.records[name]
        for i, form in enumerate(table.of_opcode(opcode))
    ]
    known = {w for _, _, _, ws in jobs for w in ws}
    known = {w for w, t in oracle.ask(sorted(known)).items() if t is not None}
    answers = oracle.ask(
        [w | x << 122 for w in sorted(known) for x in range(8)] + [w & ~b for w in sorted(known) for b in BARRIERS]
    )
    changed = 0
    for opcode, i, form, words in jobs:
        r = work.records[name][opcode][i]
        named = {"".join(c for b, c in BARRIERS.items() if answers[w & ~b] is not None) for w in words if w in known}
        if len(named) == 1 and named != {r.get("bar", "")}:
            print(f"{name}: {opcode:04x} {form.mnemonic}: barriers {named}, not {r.get('bar', '')!r}")
            r["bar"] = named.pop()
            changed += 1
        found = {frozenset(x for x in range(8) if answers[w | x << 122] is not None) for w in words if w in known}
        if len(found) != 1:
            continue
        legal = set(found.pop())
        flags = ANY_REUSE if legal == LOOSE else max(legal)
        if flags == form.reuse or (flags != ANY_REUSE and legal != {x for x in range(8) if not x & ~flags}):
            continue
        r["mask"] = f"{int(r['mask'], 16) & ~FLAGS | (0 if flags == ANY_REUSE else (7 & ~flags) << 122):x}"
        mark(r, 0 if flags == ANY_REUSE else flags)
        changed += 1
    print(f"{name}: {changed} forms changed", flush=True)
    return changed


def main(argv: list[str]) -> None:
    work = Working()
    for name in argv or CLASSES:
        settle(work, name, Oracle(name.upper().replace("_", "")))
    work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
