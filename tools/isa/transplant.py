"""Copies forms from one instruction table to another where nvdisasm agrees.

Usage: ``python tools/isa/transplant.py sm_80 sm_86``.  For every form of the first table whose opcode and operand layout the second
lacks, random words of the form are put to the second decoder; the form is copied if it prints every legal one exactly and at least
one is legal.  Values of modifiers that the second decoder refuses stay in the copy (the tables share value tables).
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from oracle import Oracle  # noqa: E402
from probe import sample  # noqa: E402

from orias.isa.printer import Printer  # noqa: E402
from orias.isa.rawtable import Form, RawTable  # noqa: E402


def layout(form: Form) -> tuple[int, str, tuple[str, ...], int, int]:
    return form.opcode, form.mnemonic, tuple(o.skeleton for o in form.operands), form.mask, form.val


def has_label(form: Form) -> bool:
    return any(e.kind == "L" for o in form.operands for e in o.elems)


def main(argv: list[str]) -> None:
    donor, name = RawTable(argv[0]), RawTable(argv[1])
    data = ROOT / "orias" / "isa" / "data"
    donor_lines = (data / f"{argv[0]}.txt").read_text(encoding="ascii").splitlines()
    lines = (data / f"{argv[1]}.txt").read_text(encoding="ascii").splitlines()
    oracle = Oracle(argv[1].upper().replace("_", ""))
    printer = Printer(donor)
    present = {layout(f)[:3] for m in name.mnemonics() for f in name.of_mnemonic(m)}
    rng = random.Random(3)
    wanted: list[tuple[int, Form, list[int]]] = []
    index: dict[str, int] = {}
    for i, row in enumerate(donor_lines):
        nth = index.get(row[:4], 0)
        index[row[:4]] = nth + 1
        form = donor.of_opcode(int(row[:4], 16))[nth]
        if layout(form)[:3] in present or has_label(form):
            continue
        wanted.append((i, form, sample(form, rng, 60)))
    answers = oracle.ask([w for _, _, words in wanted for w in words])
    copied = []
    refused = 0
    for i, form, words in wanted:
        legal = [(w, answers[w]) for w in words if answers[w] is not None]
        if legal and all(printer.form_text(form, w, 0, None) == t for w, t in legal):
            copied.append(donor_lines[i])
        else:
            refused += bool(legal)
    if copied:
        merged = sorted(enumerate(lines + copied), key=lambda p: (p[1][:4], p[0]))
        (data / f"{argv[1]}.txt").write_text("".join(row + "\n" for _, row in merged), encoding="ascii")
    print(f"{argv[1]}: {len(copied)} of {len(wanted)} forms of {argv[0]} copied, {refused} print differently")


if __name__ == "__main__":
    main(sys.argv[1:])
