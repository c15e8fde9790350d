"""Measures decoding, encoding, printing and assembling over harvested words, against nvdisasm.

``python tools/isa/agreement.py FOLDER [--report FILE] [sm_NN ...]``: FOLDER holds ``sm_NN.words`` of ``wheels.py``.  Per table: words, words that
``encode(decode(w))`` does not give back, texts that differ from nvdisasm's, words that only one side calls legal, and texts that
the assembler does not turn back into the word (control word and hidden bits apart, which its listing marks).  ``--report`` writes
the differences by form as a Markdown table.
"""

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from oracle import Oracle  # noqa: E402

from orias.isa.isa_table import IllegalWord, IsaTable, load  # noqa: E402
from orias.target.decoder_class import table_of_name  # noqa: E402
from orias.tools.assemble import AsmError, assemble_instruction  # noqa: E402

ADDRESS = re.compile(r"at address (0x[0-9a-fA-F]+)")
CONTROL = (1 << 21) - 1 << 105


class Placed(Oracle):
    """An oracle that also says at which address it saw a word, which decides about the text of branches."""

    def __init__(self, decoder: str) -> None:
        super().__init__(decoder)
        self.places: dict[int, int] = {}

    def _ask(self, todo: list[int]) -> None:
        rest = todo
        while rest:
            out, err = self._run(rest)
            bad = {int(a, 16) // 16 for a in ADDRESS.findall(err)}
            if not bad:
                for i, w in enumerate(rest):
                    self.known[w] = out.get(i)
                    self.places[w] = 16 * i
                return
            for i in bad:
                self.known[rest[i]] = None
            rest = [w for i, w in enumerate(rest) if i not in bad]


class Count:
    """What one table's words gave."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.words = self.illegal_both = 0
        self.encode = self.text = self.only_ours = self.only_theirs = self.assembled = self.marked = 0
        self.by_form: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.examples: dict[tuple[str, str], str] = {}

    def note(self, kind: str, name: str, example: str) -> None:
        key = (kind, name)
        self.by_form[key][example] += 1
        self.examples.setdefault(key, example)


def mnemonic(text: str) -> str:
    """The first word after the guard, up to its first modifier."""
    words = text.split()
    return words[text.startswith("@")].split(".")[0] if words else ""


def round_trip(table: IsaTable, w: int) -> str:
    """Empty if encoding the decoded word gives it back, else what went wrong."""
    try:
        back = table.encode_decoded(table.decode(w))
    except IllegalWord as e:
        return str(e)
    return "" if back == w else f"{w:032x} gives {back:032x}"


def measure(name: str, words: list[int], oracle: Placed) -> Count:
    table = load(name)
    count = Count(name)
    answers = oracle.ask(words)
    for w in words:
        theirs = answers[w]
        count.words += 1
        try:
            ours: str | None = table.text(w, oracle.places.get(w, 0))
        except IllegalWord:
            ours = None
        if theirs is None or ours is None:
            if theirs is None and ours is None:
                count.illegal_both += 1
            elif theirs is None:
                count.only_ours += 1
                count.note("only we call it legal", mnemonic(ours or ""), f"{w:032x} {ours}")
            else:
                count.only_theirs += 1
                count.note("only nvdisasm calls it legal", mnemonic(theirs), f"{w:032x} {theirs}")
            continue
        if ours.rstrip() != theirs.rstrip():
            count.text += 1
            count.note("text", mnemonic(ours), f"{w:032x} ours `{ours}` theirs `{theirs}`")
        wrong = round_trip(table, w)
        if wrong:
            count.encode += 1
            count.note("encode(decode(w)) is not w", mnemonic(ours), wrong)
        try:
            back = assemble_instruction(ours, table, oracle.places[w])
        except AsmError as e:
            count.assembled += 1
            count.note("assembler", mnemonic(ours), f"{w:032x} {ours}: {e.message}")
            continue
        if (back ^ w) & ~CONTROL:
            count.marked += 1
            count.note("hidden bits", mnemonic(ours), f"{w:032x} {ours} ^{(back ^ w) & ~CONTROL:x}")
    return count


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_intermixed_args(argv)
    names = given.tables or sorted((p.stem for p in given.folder.glob("*.words")), key=lambda s: int(s[3:]))
    rows = []
    counts = []
    for name in names:
        data = (given.folder / f"{name}.words").read_bytes()
        words = [int.from_bytes(data[i : i + 16], "little") for i in range(0, len(data), 16)]
        if given.limit:
            words = words[:: max(1, len(words) // given.limit)]
        start = time.perf_counter()
        c = measure(table_of_name(name), words, Placed(name.upper().replace("_", "")))
        counts.append(c)
        legal = c.words - c.illegal_both
        rows.append(
            f"| {name} | {c.words:,} | {c.encode} | {c.text} ({100 - 100 * c.text / max(1, legal):.3f} % equal) | {c.only_ours} "
            f"| {c.only_theirs} | {c.assembled} | {c.marked} |"
        )
        print(rows[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
        for (kind, name_), seen in sorted(c.by_form.items(), key=lambda x: -sum(x[1].values()))[:12]:
            print(f"    {sum(seen.values()):6} {kind}: {name_}: {c.examples[kind, name_][:200]}")
    if given.report:
        lines = [
            "| table | words | encode(decode(w)) differs | texts that differ | legal for us only | for nvdisasm only | not assembled | with hidden bits |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "| table | difference | operation | words | example |",
            "|---|---|---|---|---|",
        ]
        for c in counts:
            for (kind, name_), seen in sorted(c.by_form.items()):
                if kind != "hidden bits":
                    example = c.examples[kind, name_].replace("|", "\\|")
                    lines.append(f"| {c.name} | {kind} | {name_} | {sum(seen.values())} | {example} |")
        given.report.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
