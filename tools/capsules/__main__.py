"""``python -m tools.capsules FOLDER``: compiles the sources with ptxas, derives the rules of capsules and judges them with a fifth of the sources."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from orias.cubin.capsule.capsule_parser import capsules
from orias.cubin.capsule.capsule_rules import Rules
from orias.cubin.capsule.capsule_writer import NoCapsule, capsule_bytes, mercury_of
from orias.cubin.capsule.items import WHOLE
from orias.cubin.capsule.signature import JOIN
from orias.cubin.elf import ElfFile
from orias.isa.isa_table import load
from orias.target.decoder_class import table_of_sm
from tools.capsules.derive import Rule, predicate_sources, rules_of
from tools.capsules.lengths import Lengths
from tools.capsules.samples import Cubins, cubins, equations_of, samples_of
from tools.capsules.sources import gather

HEADING = (
    "# How capsules state SASS instructions, one line for each signature and condition (orias/cubin/capsule/capsule_rules.py has the notation).",
    '# Source: cubins of ptxas 13.0.88 for sm_100a, 110a and 120a, read by tools/capsules (docs/facts/capsules.md, "Rules").',
)
JUDGED = Path(__file__).with_name("judged.txt")
"""Rules that no cubin of ptxas shows, and why they are right."""
NO_RULE = "no rule"
_STEPS = (1, 2, 3, 10, 100, 1000)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="where the cubins are kept; those that are there are not compiled again"
    )
    parser.add_argument("--targets", default="sm_100a,sm_120a,sm_110a")
    parser.add_argument("--files", type=int, default=120, help="corpus files for each target")
    parser.add_argument("--random", type=int, default=240, help="random programs for each target")
    parser.add_argument("--read-only", action="store_true", help="compile nothing")
    parser.add_argument("--programs", type=Path, help="compile the programs of this file alone")
    parser.add_argument("--kinds", default="", help="compile sources of these kinds alone, such as asynchronous,tensor")
    parser.add_argument("--add", type=Path, help="a table, which gets the rules that it lacks")
    parser.add_argument("--keep", type=Path, help="a table whose rules stay where the samples give none")
    parser.add_argument("--evidence", type=Path, help="write each rule with its numbers of samples and of sources")
    parser.add_argument("-o", type=Path, dest="out", help="write the table")
    o = parser.parse_args(arguments)
    if not o.read_only:
        kinds = tuple(o.kinds.split(",")) if o.kinds else ()
        gather(
            o.folder, o.targets.split(","), o.files, o.random, lambda text: print(text, flush=True), o.programs, kinds
        )
    found = cubins(o.folder, apart=False)
    if o.programs is not None:
        found += cubins(o.folder, apart=True)
    samples = samples_of(found)
    lengths = Lengths(equations_of(found))
    rules, without = rules_of(samples, lengths)
    print(
        f"{len(found)} cubins, {sum(s.count for v in samples.values() for s in v)} instructions, {len(samples)} signatures, {len(without)} without a rule"
    )
    print(f"{lengths.equations} equations of {len(lengths.known)} lengths, {lengths.contradictions} contradictions")
    _print_evidence(rules)
    if o.evidence is not None:
        o.evidence.write_text("".join(f"{r.instructions}\t{r.sources}\t{r.line}\n" for r in rules), encoding="utf-8")
    lines = [r.line for r in rules]
    if o.add is not None:
        o.out.write_text(
            "\n".join(with_added(o.add.read_text(encoding="utf-8").splitlines(), lines)) + "\n", encoding="utf-8"
        )
        return 0
    judged_lines = [line for line in JUDGED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    replaced = {line.partition("\t")[0] for line in judged_lines}
    lines = [*(line for line in lines if line.partition("\t")[0] not in replaced), *judged_lines]
    if o.keep is not None:
        lines = with_kept(lines, o.keep.read_text(encoding="utf-8").splitlines())
    print(f"{len(lines)} rules")
    if o.out is not None:
        o.out.write_text("\n".join([*HEADING, *lines]) + "\n", encoding="utf-8")
    judge(Rules(lines), cubins(o.folder, apart=True))
    return 0


def with_kept(lines: list[str], older: list[str]) -> list[str]:
    """The table with the rules of an older one for signatures that it does not have."""
    new = {_signature(line) for line in lines}
    kept = [_careful(line) for line in older if line and not line.startswith("#") and _signature(line) not in new]
    print(f"{len(kept)} rules kept")
    return sorted([*lines, *kept], key=_signature)


def with_added(table: list[str], new: list[str]) -> list[str]:
    """A table with the new rules of signatures that it lacks, or has with conditions only: these come after its own."""
    have = {_signature(line): line for line in table}
    rows = {line.partition("\t")[0] for line in table}
    open_ = {key for key in have if any(line == key for line in rows)}
    extra = [line for line in new if _signature(line) not in open_ and line.partition("\t")[0] not in rows]
    print(f"{len(extra)} rules added")
    heading = [line for line in table if line.startswith("#")]
    return [*heading, *sorted([line for line in table if line and not line.startswith("#")] + extra, key=_signature)]


def _careful(line: str) -> str:
    """A kept rule; without samples, a *same* or *head* rule holds for predicates that are not negated."""
    left, _, right = line.partition("\t")
    if right.startswith("whole"):
        return line
    sources = predicate_sources(_signature(line))
    words, number, operation = left.split(), 0, True
    for i, word in enumerate(words):
        if operation or word in ("|", JOIN):
            operation = word == JOIN or word.startswith("@")
            continue
        if number in sources and "=" not in word:
            words[i] += "=+"
        number += 1
    return f"{' '.join(words)}\t{right}"


def _signature(line: str) -> str:
    return " ".join(word.partition("=")[0] for word in line.partition("\t")[0].split())


def _print_evidence(rules: list[Rule]) -> None:
    for what, numbers in (("samples", [r.instructions for r in rules]), ("sources", [r.sources for r in rules])):
        steps: Counter[int] = Counter(max(s for s in _STEPS if s <= n) for n in numbers)
        print(f"rules by {what}: " + ", ".join(f"{s}+: {steps[s]}" for s in _STEPS))


def judge(rules: Rules, found: Cubins) -> None:
    """Compare with the capsules of the cubins that are held apart, and print what is wrong or missing."""
    functions, equal, wrong = judged(rules, found)
    print(
        f"held apart: {functions} functions, {equal} capsules equal, {sum(n for w, n in wrong.items() if w.startswith(NO_RULE))} without"
    )
    for what, n in wrong.most_common(40):
        print(f"  {n} {what}")


def judged(rules: Rules, found: Cubins) -> tuple[int, int, Counter[str]]:
    """Number of functions, of capsules that are equal to ptxas's, and of what is wrong or missing."""
    functions = equal = 0
    wrong: Counter[str] = Counter()
    for _, path in found:
        file = ElfFile(path.read_bytes())
        table = load(table_of_sm(file.sm))
        sections = {s.name: s for s in file.sections}
        for c in capsules(file):
            text = sections[c.text]
            functions += 1
            try:
                ours = mercury_of(text.data, table, c.text, rules)
            except NoCapsule as e:
                wrong[f"{NO_RULE}: {_operation(str(e).rpartition('rule: ')[2])}"] += 1
                continue
            equal += capsule_bytes(ours.items, text.index) == sections[c.section].data
            theirs = {i.first: i for i in c.items}
            for item in ours.items:
                other = theirs.get(item.first)
                what = "other group"
                if other is not None and item.words == other.words:
                    what = (
                        "equal"
                        if (item.kind, item.code) == (other.kind, other.code)
                        else "same for head"
                        if WHOLE not in (item.kind, other.kind)
                        else "wrong"
                    )
                if what in ("wrong", "other group"):
                    at = item.first * 16
                    wrong[
                        f"{what}: {_operation(table.text(int.from_bytes(text.data[at : at + 16], 'little'), at))}"
                    ] += 1
    return functions, equal, wrong


def _operation(text: str) -> str:
    words = text.split()
    return words[1] if len(words) > 1 and words[0].startswith("@") else words[0] if words else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
