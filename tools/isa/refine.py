"""Sets hidden defaults, preferred modifier values and counts of a data file from words that ptxas wrote.

Usage: ``python tools/isa/refine.py sm_90 WORDS_FILE...`` (one hexadecimal word a line, see ``tests/isa/harvest.py``).

For every form that a word takes, the hidden bits most often seen become its default (per modifier string where that matters), and the
modifier bits most often seen its preference.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import read_words  # noqa: E402
from working import Working  # noqa: E402

from orias.isa.decode import mod_text  # noqa: E402
from orias.isa.rawtable import Form  # noqa: E402

CONTROL = ((1 << 23) - 1) << 105
GUARD = 15 << 12


def form_bits(form: Form) -> int:
    """All bits of the modifier fields of a form."""
    m = 0
    for p in form.pieces():
        m |= p.mask
    return m


def refine(work: Working, name: str, words: list[int]) -> int:
    """Returns the number of records that changed."""
    raw = work.table(name)
    hidden: dict[tuple[int, int], dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    prefer: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    facts: dict[int, list[tuple[Form, int, int]]] = {}
    for w in words:
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        if opcode not in facts:
            facts[opcode] = [(f, form_bits(f), f.hidden) for f in raw.of_opcode(opcode)]
        for i, (form, fields, free) in enumerate(facts[opcode]):
            if not form.matches(w):
                continue
            mods = mod_text(form.mods, w)
            if mods is None:
                continue
            hidden[opcode, i][mods[1:]][w & free & ~CONTROL & ~GUARD & ~(1 << 125)] += 1
            prefer[opcode, i][w & fields] += 1
            if not form.alias:
                break
    changed = 0
    for (opcode, i), by_mods in hidden.items():
        r = work.records[name][opcode][i]
        old = dict(r)
        all_mods: Counter[int] = Counter()
        for c in by_mods.values():
            all_mods.update(c)
        best = all_mods.most_common(1)[0][0]
        r["hidden_default"] = f"{best:x}"
        r["hidden_by_mods"] = {
            m: f"{c.most_common(1)[0][0]:x}" for m, c in sorted(by_mods.items()) if c.most_common(1)[0][0] != best
        }
        r["prefer"] = f"{prefer[opcode, i].most_common(1)[0][0]:x}"
        r["n"] = max(sum(all_mods.values()), r["n"])
        changed += r != old
    print(f"{name}: {len(words)} words, {len(hidden)} forms seen, {changed} records changed", flush=True)
    return changed


def main(argv: list[str]) -> None:
    work = Working()
    refine(work, argv[0], read_words(argv[1:]))
    work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
