"""Adds forms of a mnemonic from the derived table of a later target to a table, where the decoder agrees.

Usage: ``python tools/isa/add_forms.py SOURCE.json.gz sm_90 SM90a WORD [MNEMONIC=HIDDEN_DEFAULT ...]``: e.g. ``USETMAXREG`` exists on
sm_90a only, which the derivation of the sm_90 table left out.  Fields of uniform registers shrink from 8 to 6 bits.  ``WORD`` is the
mnemonic; defaults of hidden bits come from compiler output, per first modifier (``DEALLOC=e00000000000000000``).
"""

import gzip
import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from import_derived import DATA, Tables, Variant, line  # noqa: E402
from oracle import Oracle  # noqa: E402
from probe import sample  # noqa: E402

from orias.isa.printer import Printer  # noqa: E402
from orias.isa.rawtable import Form, RawTable  # noqa: E402


def narrowed(v: Variant, default: str) -> Variant:
    """The variant with 6-bit uniform registers; the bits that go become hidden."""
    hidden = int(v["hidden"], 16)
    for o in v["ops"]:
        for e in o["el"]:
            if "{U}" in o["s"] and e.get("f", [0, 0])[1] == 8:
                e["f"][1] = 6
                hidden |= 3 << (e["f"][0] + 6)
    return {**v, "hidden": f"{hidden:x}", "hidden_default": default}


def main(argv: list[str]) -> None:
    source, name, decoder, word = argv[:4]
    defaults = dict(a.split("=") for a in argv[4:])
    with gzip.open(source) as f:
        forms = json.load(f)["forms"]
    tables = Tables(DATA / "modifiers.txt")
    tables.load()
    rows = []
    for opcode, variants in forms.items():
        for v in variants:
            if v["mn"] == word:
                rows.append(line(int(opcode, 16), narrowed(v, defaults.get(v["mods"][0], "0")), tables))
    tables.publish()
    oracle = Oracle(decoder)
    table = RawTable(name)
    rng = random.Random(5)
    kept = []
    for row in rows:
        end = row.index(" ", 5)
        form = Form(int(row[:4], 16), row[5:end], json.loads(row[end + 1 :]), table)
        words = sample(form, rng, 60)
        answers = oracle.ask(words)
        legal = [w for w in words if answers[w] is not None]
        if legal and all(Printer(table)._form(form, w, 0, None) == answers[w] for w in legal):
            kept.append(row)
        else:
            print(f"{len(legal)} legal words, some print differently: {row[:60]}")
    path = DATA / f"{name}.txt"
    lines = path.read_text(encoding="ascii").splitlines(keepends=True) + kept
    merged = sorted(enumerate(lines), key=lambda p: (p[1][:4], p[0]))
    path.write_text("".join(row for _, row in merged), encoding="ascii")
    tables.write_used(DATA)
    print(f"{name}: {len(kept)} of {len(rows)} forms of {word} added")


if __name__ == "__main__":
    main(sys.argv[1:])
