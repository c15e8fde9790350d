"""Sets hidden defaults, preferred modifier values and counts of a data file from words that ptxas wrote.

Usage: ``python tools/isa/refine.py sm_90 WORDS_FILE...`` (one hexadecimal word a line, see ``tests/isa/harvest.py``).

For every form that a word takes, the hidden bits most often seen become its default (per modifier string where that matters), and the
modifier bits most often seen its preference.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from orias.isa.decode import mod_text  # noqa: E402
from orias.isa.rawtable import Form, RawTable  # noqa: E402

CONTROL = ((1 << 23) - 1) << 105
GUARD = 15 << 12


def form_bits(form: Form) -> int:
    """All bits of the modifier fields of a form."""
    m = 0
    for p in form.mods:
        m |= p.mask
    for o in form.operands:
        for p in o.pre + o.post:
            m |= p.mask
        for e in o.elems:
            for p in e.suf + e.pieces:
                m |= p.mask
    return m


def unaccounted(form: Form) -> int:
    """Bits that neither the opcode, nor a field, nor the hidden mask names: they do not matter to the text either."""
    known = form.mask | form.hidden | form_bits(form) | GUARD | ((1 << 23) - 1) << 105
    for o in form.operands:
        for e in o.elems:
            known |= ((1 << e.width) - 1) << e.lo
            for lo, width, _ in e.parts:
                known |= ((1 << width) - 1) << lo
    return ((1 << 128) - 1) & ~known


def refine(name: str, words: set[int]) -> None:
    raw = RawTable(name)
    path = ROOT / "orias" / "isa" / "data" / f"{name}.txt"
    lines = path.read_text(encoding="ascii").splitlines()
    by_opcode: dict[int, list[int]] = defaultdict(list)
    where: dict[str, int] = defaultdict(int)
    for i, row in enumerate(lines):
        form = raw.of_opcode(int(row[:4], 16))[where[row[:4]]]
        where[row[:4]] += 1
        extra = unaccounted(form)
        if extra:
            end = row.index(" ", 5)
            rec: dict[str, Any] = json.loads(row[end + 1 :])
            rec["h"] = f"{form.hidden | extra:x}"
            lines[i] = f"{row[:end]} {json.dumps(rec, separators=(',', ':'))}"
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii")
    raw = RawTable(name)
    for i, row in enumerate(lines):
        by_opcode[int(row[:4], 16)].append(i)
    hidden: dict[int, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    prefer: dict[int, Counter[int]] = defaultdict(Counter)
    total: Counter[int] = Counter()
    fields: dict[int, int] = {}
    for w in words:
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        for i, form in zip(by_opcode.get(opcode, ()), raw.of_opcode(opcode), strict=True):
            if not form.matches(w):
                continue
            mods = mod_text(form.mods, w)
            if mods is None:
                continue
            if i not in fields:
                fields[i] = form_bits(form)
            hidden[i][mods[1:]][w & form.hidden & ~CONTROL & ~GUARD & ~(1 << 125)] += 1
            prefer[i][w & fields[i]] += 1
            total[i] += 1
            if not form.alias:
                break
    changed = 0
    for i, by_mods in hidden.items():
        row = lines[i]
        end = row.index(" ", 5)
        rec = json.loads(row[end + 1 :])
        all_mods: Counter[int] = Counter()
        for c in by_mods.values():
            all_mods.update(c)
        best = all_mods.most_common(1)[0][0]
        special = {m: c.most_common(1)[0][0] for m, c in sorted(by_mods.items()) if c.most_common(1)[0][0] != best}
        for key, value in (
            ("d", f"{best:x}" if best else None),
            ("dm", {m: f"{v:x}" for m, v in special.items()} or None),
        ):
            if value is None:
                rec.pop(key, None)
            else:
                rec[key] = value
        p = prefer[i].most_common(1)[0][0]
        if p:
            rec["p"] = f"{p:x}"
        rec["n"] = max(total[i], rec.get("n", 0))
        new = f"{row[:end]} {json.dumps(rec, separators=(',', ':'))}"
        changed += new != row
        lines[i] = new
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii")
    print(f"{name}: {len(words)} words, {len(hidden)} forms seen, {changed} records changed")


def main(argv: list[str]) -> None:
    words: set[int] = set()
    for f in argv[1:]:
        words.update(int(line, 16) for line in Path(f).read_text(encoding="ascii").split())
    refine(argv[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
