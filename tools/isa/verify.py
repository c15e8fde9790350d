"""Compares random words of every form with nvdisasm.

Usage: ``python tools/isa/verify.py sm_90 [COUNT [FILE]]``; the differing words go to FILE, for ``probe.py``.  Prints per form how many of its COUNT random words (default 40) print differently; words
that the tool calls illegal are counted apart, since a form may allow combinations that the hardware has no meaning for.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from transplant import has_label  # noqa: E402

from orias.isa.printer import Printer  # noqa: E402
from orias.isa.rawtable import Form, RawTable  # noqa: E402


def main(argv: list[str]) -> None:
    raw = RawTable(argv[0])
    count = int(argv[1]) if len(argv) > 1 else 40
    oracle = Oracle(argv[0].upper().replace("_", ""))
    printer = Printer(raw)
    rng = random.Random(5)
    jobs: list[tuple[Form, list[int]]] = []
    for m in raw.mnemonics():
        for f in raw.of_mnemonic(m):
            if not has_label(f):
                jobs.append((f, sample(f, rng, count)))
    answers = oracle.ask([w for _, words in jobs for w in words])
    total = good = illegal = 0
    bad_seen = bad_forms = 0
    differing: list[int] = []
    for f, words in jobs:
        wrong = []
        for w in words:
            t = answers[w]
            total += 1
            if t is None:
                illegal += 1
            elif "INVALID" in t or "???" in t:
                good += 1
            else:
                try:
                    mine = printer.text(w, 0, None)
                except Exception as e:
                    mine = type(e).__name__
                if mine == t:
                    good += 1
                else:
                    differing.append(w)
                    wrong.append(f"{w:032x} {mine} / {t}")
        if wrong:
            bad_forms += 1
            bad_seen += f.seen > 0
            print(
                f"{f.opcode:04x} {f.mnemonic} {[o.skeleton for o in f.operands]} n={f.seen}: {len(wrong)} wrong, e.g. {wrong[0]}"
            )
    if len(argv) > 2:
        Path(argv[2]).write_text("".join(f"{w:032x}\n" for w in differing), encoding="ascii")
    print(
        f"{argv[0]}: {len(jobs)} forms, {total} words, {illegal} illegal, {good} agree; {bad_forms} forms wrong ({bad_seen} seen in output)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
