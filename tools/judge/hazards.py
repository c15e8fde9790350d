"""Figures of the hazard checker on cubins of another compiler: false alarms, and how many planted faults it finds.

usage: python -m tools.judge.hazards alarms RESULTS.jsonl FILE|DIR... [--arch sm_NN,...] [--largest BYTES] [--until HH:MM] [--table] [--json] [--quiet]
       python -m tools.judge.hazards plant|words RESULTS.jsonl FILE|DIR... [--count N] [--each N] [--function N] [--seed N] [the same options]

alarms: a line of RESULTS for each file (of at most --largest bytes) with its findings.  plant: harmful faults (tests/check/plant.py says
what they are; one that is missed is given to the walks of tests/check/one_word.py) in sections of up to --function (200) instructions, --each (20) of a kind in one section, until each target has --count (10,000) of them; files with findings of their own
are left out.  words: control words with one field changed, anywhere in a section; tests/check/one_word.py decides which of them are
harmful, and every harmful one must be found, no harmless one.  What stands in RESULTS is not done again.  --table prints what it holds and does nothing.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orias.check import check_cubin
from orias.check.cubin import SectionCode
from orias.cubin.cubin_error import CubinError
from orias.cubin.reader import Reader
from orias.isa.isa_table import IsaTable, load
from orias.progress import Bar
from orias.target.decoder_class import table_of_sm
from orias.target.profile import profile_of_sm
from orias.timing.needs import Facts
from tests.check.one_word import HARMFUL, HARMLESS, OPEN, REFUSED, Change, TooManyPathsError, Walker
from tests.check.one_word import KINDS as WORD_KINDS
from tests.check.plant import KINDS, Fault, Planter, sections
from tools.judge.clock import moment


def alarms(data: bytes) -> dict[str, Any]:
    """Findings of a file."""
    found = check_cubin(data)
    return {
        "unknown": sum(h.rule == "unknown" for h in found),
        "alarms": [h.line() for h in found if h.rule != "unknown"],
    }


def plant(data: bytes, rng: random.Random, left: int, each: int, largest: int) -> dict[str, Any]:
    """Faults planted in a file and found, by kind; those missed as lines."""
    reader = Reader(data)
    table, model = load(table_of_sm(reader.sm)), profile_of_sm(reader.sm).latency_class
    facts = Facts(model)
    planted: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    missed: list[str] = []
    proven = 0
    for index, code, section in _clean_sections(data, reader, table, facts, largest):
        walker: Walker | None = None
        for fault in Planter(index, code, table, model).some(rng, each):
            planted[fault.kind] += 1
            if section.catches(fault.words):
                caught[fault.kind] += 1
            else:
                walker = walker or _walker(section, code)
                verdict = _verdict(walker, fault)
                proven += verdict == HARMLESS
                place = [hex(a) for a in fault.words]
                missed.append(f"{section.name}: {fault.kind}: {fault.note} at {place}: {verdict}")
            if planted.total() >= left:
                break
        if planted.total() >= left:
            break
    return {"planted": planted, "caught": caught, "missed": missed, "harmless": proven}


def _clean_sections(
    data: bytes, reader: Reader, table: IsaTable, facts: Facts, largest: int
) -> Iterator[tuple[int, bytes, SectionCode]]:
    """The sections of code, with number and bytes, of at most `largest` instructions and without a finding."""
    for index, _, code in sections(data):
        if len(code) <= 16 * largest:
            section = SectionCode(reader.elf, reader.elf.sections[index], table, facts)
            if not section.findings():
                yield index, code, section


def _walker(section: SectionCode, code: bytes) -> Walker:
    return Walker(section, [int.from_bytes(code[k : k + 16], "little") for k in range(0, len(code), 16)])


def _verdict(walker: Walker, fault: Fault) -> str:
    """What the walk of single paths says of a planted fault; two exchanged instructions are left open."""
    if len(fault.words) > 1:
        return OPEN
    ((at, word),) = fault.words.items()
    return walker.judge(Change("reuse" if fault.kind == "plant reuse" else fault.kind, at // 16, word))[0]


def words(data: bytes, rng: random.Random, left: int, each: int, largest: int) -> dict[str, Any]:
    """Control words changed one at a time: how many by kind, verdict and finding; wrong answers of the checker as lines."""
    reader = Reader(data)
    instructions, model = load(table_of_sm(reader.sm)), profile_of_sm(reader.sm).latency_class
    facts = Facts(model)
    counts: Counter[str] = Counter()
    missed: list[str] = []
    harmful = 0
    for _, code, section in _clean_sections(data, reader, instructions, facts, largest):
        try:
            walker = _walker(section, code)
        except TooManyPathsError:
            counts["too many paths"] += 1
            continue
        if not walker.sound:
            missed.append(f"{section.name}: unsound as it is")
            continue
        for change in walker.changes(rng, each):
            verdict, why = walker.judge(change)
            try:
                got = section.catches({16 * change.index: change.word})
            except CubinError:
                got = True
            counts[f"{change.kind} {verdict} {'found' if got else 'passed'}"] += 1
            harmful += verdict == HARMFUL
            if (verdict, got) in ((HARMFUL, False), (HARMLESS, True), (REFUSED, False)):
                missed.append(f"{section.name} 0x{16 * change.index:x}: {change.kind}: {verdict}: {why}")
        if harmful >= left:
            break
    return {"planted": {"harmful": harmful}, "caught": {}, "counts": counts, "missed": missed}


def word_table(lines: list[dict[str, Any]]) -> str:
    """A row a target: the harmful changes found and planted, by kind; harmless, open and refused ones."""
    rows: dict[str, Counter[str]] = {}
    for x in lines:
        rows.setdefault(x["arch"], Counter()).update(x["counts"])
    kinds = [k for k in WORD_KINDS if k != "yield"]
    head = ["target", "harmful", "found", "", *kinds, "harmless", "of them found", "open", "of them found", "refused"]
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]

    def total(r: Counter[str], verdict: str, got: str = "") -> int:
        return sum(n for k, n in r.items() if f" {verdict} {got}" in k + " ")

    everything: Counter[str] = Counter()
    for r in rows.values():
        everything.update(r)
    for arch, r in [*sorted(rows.items(), key=lambda x: int(x[0][3:].rstrip("af"))), ("all", everything)]:
        harmful, found = total(r, HARMFUL), total(r, HARMFUL, "found")
        cells = [arch, str(harmful), str(found), f"{100 * found / max(harmful, 1):.2f} %"]
        cells += [
            f"{r[f'{k} {HARMFUL} found']}/{r[f'{k} {HARMFUL} found'] + r[f'{k} {HARMFUL} passed']}" for k in kinds
        ]
        for verdict in (HARMLESS, OPEN):
            cells += [str(total(r, verdict)), str(total(r, verdict, "found"))]
        out.append("| " + " | ".join([*cells, str(total(r, REFUSED))]) + " |")
    return "\n".join(out) + "\n"


def files(paths: list[str], arches: list[str], largest: int) -> list[tuple[Path, int, str]]:
    """(file, SM, name of the target) of all cubins, in an order that mixes them and lets targets take turns."""
    found: list[Path] = []
    for p in map(Path, paths):
        found += sorted(p.rglob("*.cubin")) if p.is_dir() else [p]
    random.Random(1).shuffle(found)
    out: list[tuple[Path, int, str]] = []
    turn: Counter[str] = Counter()
    order: list[tuple[int, int]] = []
    for path in found:
        if path.stat().st_size > largest:
            continue
        reader = Reader(path.read_bytes())
        arch = reader.target
        if not arches or arch in arches:
            # the targets take turns
            order.append((turn[arch], len(out)))
            turn[arch] += 1
            out.append((path, reader.sm, arch))
    return [out[k] for _, k in sorted(order)]


def table(mode: str, lines: list[dict[str, Any]]) -> str:
    """A row a target."""
    if mode == "words":
        return word_table(lines)
    rows: dict[str, Counter[str]] = {}
    for x in lines:
        row = rows.setdefault(x["arch"], Counter())
        row["files"] += 1
        if mode == "alarms":
            row["alarms"] += len(x["alarms"])
            row["with"] += bool(x["alarms"])
            row["unknown"] += x["unknown"]
            row["instructions"] += x["instructions"]
            continue
        row["planted"] += sum(x["planted"].values())
        row["caught"] += sum(x["caught"].values())
        row["harmless"] += x.get("harmless", 0)
        row.update({f"all {k}": n for k, n in x["planted"].items()})
        row.update({f"got {k}": n for k, n in x["caught"].items()})
    ordered = sorted(rows.items(), key=lambda r: int(r[0][3:].rstrip("af")))
    if mode == "alarms":
        out = [
            "| target | files | instructions | findings | files with one | not checked |",
            "|---|---|---|---|---|---|",
        ]
        out += [
            f"| {a} | {r['files']} | {r['instructions']} | {r['alarms']} | {r['with']} | {r['unknown']} |"
            for a, r in ordered
        ]
        return "\n".join(out) + "\n"
    out = [
        "| target | planted | caught | missed, proven harmless | | " + " | ".join(KINDS) + " |",
        "|---|---|---|---|---|" + "---|" * len(KINDS),
    ]
    for a, r in ordered:
        cells = " | ".join(f"{r['got ' + k]}/{r['all ' + k]}" for k in KINDS)
        out.append(
            f"| {a} | {r['planted']} | {r['caught']} | {r['harmless']} |"
            f" {100 * r['caught'] / max(r['planted'] - r['harmless'], 1):.2f} % | {cells} |"
        )
    return "\n".join(out) + "\n"


class Settings:
    """The options."""

    def __init__(self, arguments: list[str]) -> None:
        self.mode, self.file = "", ""
        self.paths: list[str] = []
        self.arches: list[str] = []
        self.count, self.largest, self.until = 10_000, 1 << 30, ""
        self.each, self.function, self.seed = 20, 200, 1
        self.table = self.json = self.quiet = False
        rest: Iterator[str] = iter(arguments)
        for a in rest:
            if a in ("--table", "--json", "--quiet"):
                setattr(self, a[2:], True)
            elif a in ("--count", "--largest", "--each", "--function", "--seed"):
                setattr(self, a[2:], int(next(rest, "0")))
            elif a == "--arch":
                self.arches = next(rest, "").split(",")
            elif a == "--until":
                self.until = next(rest, "")
            elif a.startswith("-"):
                raise SystemExit(__doc__)
            elif not self.mode:
                self.mode = a
            elif not self.file:
                self.file = a
            else:
                self.paths.append(a)
        if self.mode not in ("alarms", "plant", "words") or not self.file:
            raise SystemExit(__doc__)


def work(given: Settings, lines: list[dict[str, Any]], out: Any) -> None:
    """Does what is missing; adds to the lines."""
    done = {x["file"] for x in lines}
    counts: Counter[str] = Counter()
    for x in lines:
        counts[x["arch"]] += sum(x.get("planted", {}).values())
    todo = [x for x in files(given.paths, given.arches, given.largest) if str(x[0]) not in done]
    bar, end = Bar(given.quiet or given.json), moment(given.until)
    for n, (path, _, arch) in enumerate(todo):
        if time.time() >= end:
            break
        bar(n, len(todo), f"{arch} {path.name}")
        left = given.count - counts[arch]
        if given.mode != "alarms" and left <= 0:
            continue
        data = path.read_bytes()
        try:
            rng = random.Random(f"{given.seed} {path.name}" if given.mode == "words" else path.name)
            if given.mode == "alarms":
                result = alarms(data)
            else:
                result = (words if given.mode == "words" else plant)(data, rng, left, given.each, given.function)
        except CubinError as e:
            result = {"alarms": [str(e)], "unknown": 0, "planted": {}, "caught": {}, "missed": []}
        size = sum(len(code) // 16 for _, _, code in sections(data))
        line = {"file": str(path), "arch": arch, "instructions": size, **result}
        counts[arch] += sum(line.get("planted", {}).values())
        lines.append(line)
        out.write(json.dumps(line) + "\n")
        out.flush()


def main(arguments: list[str]) -> int:
    """Runs, prints the table and what was found or missed; exit code 1 if that is anything."""
    given = Settings(arguments)
    path = Path(given.file)
    lines = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
    if not given.table:
        with path.open("a") as out:
            work(given, lines, out)
    bad = [f"{x['file']} {t}" for x in lines for t in x["alarms" if given.mode == "alarms" else "missed"]]
    print(json.dumps({"lines": lines}) if given.json else table(given.mode, lines) + "\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
