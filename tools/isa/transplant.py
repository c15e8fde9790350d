"""Copies forms from one instruction table to another where nvdisasm agrees.

Usage: ``python tools/isa/transplant.py sm_80 sm_86``.  For every form of the first table whose opcode and operand layout the second
lacks, random words of the form are put to the second decoder; the form is copied if four fifths are legal and it prints every legal one exactly.  Values of modifiers that the second decoder refuses stay in the copy (the tables share value tables).
"""

import copy
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import replace, sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from tablefile import Record  # noqa: E402
from working import Working, form_of  # noqa: E402

from orias.isa.printer import Printer  # noqa: E402
from orias.isa.rawtable import Form  # noqa: E402

LEGAL = 0.8


def layout(form: Form) -> tuple[int, str, tuple[str, ...]]:
    return form.opcode, form.mnemonic, tuple(form.skeletons())


def has_label(form: Form) -> bool:
    return any(e.kind == "L" for o in form.operands for e in o.elems)


def transplant(work: Working, donor_name: str, name: str, oracle: Oracle) -> int:
    """Copies forms in `work`; returns how many."""
    donor = work.table(donor_name)
    present = {layout(f) for f in work.table(name).forms()}
    rng = random.Random(3)
    wanted: list[tuple[int, Record, Form, list[int]]] = []
    for opcode, records in work.records[donor_name].items():
        for record, form in zip(records, donor.of_opcode(opcode), strict=True):
            if layout(form) not in present:
                here = form_of(opcode, record, name)
                wanted.append((opcode, record, here, sample(here, rng, 60)))
    answers = oracle.ask_in_place([w for _, _, _, words in wanted for w in words])
    printer = Printer(donor)
    at = copied = refused = 0
    for opcode, record, form, words in wanted:
        places = range(at, at + len(words))
        at += len(words)
        legal = [(w, 16 * k) for w, k in zip(words, places, strict=True) if answers[k] is not None]
        if len(legal) >= LEGAL * len(words) > 0 and all(
            printer.form_text(form, w, pc, None) == answers[pc // 16] for w, pc in legal
        ):
            new = copy.deepcopy(record)
            new["n"] = 0
            forms = work.records[name]
            forms[opcode] = replace(forms.get(opcode, []), new)
            copied += 1
        else:
            refused += bool(legal)
    print(f"{name}: {copied} of {len(wanted)} forms of {donor_name} copied, {refused} print differently", flush=True)
    return copied


def main(argv: list[str]) -> None:
    work = Working()
    if transplant(work, argv[0], argv[1], Oracle(argv[1].upper().replace("_", ""))):
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])
