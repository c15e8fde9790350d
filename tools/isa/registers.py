"""Registers that each instruction reads and writes: ours against the life-range columns of ``nvdisasm -plr``.

``python tools/isa/registers.py [--report FILE] [--limit SECONDS] CUBIN|DIR...`` prints the differences by operation, with the number of instructions compared.
A column of the tool says ``^`` written, ``v`` read, ``x`` both.  The barrier registers have no column.  A file for which the tool takes longer
than ``--limit`` seconds (20) is named and left out.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from orias.analysis.access import B_BASE, P_BASE, UP_BASE, UR_BASE, accesses, unit_name  # noqa: E402
from orias.cubin.elf import ElfFile  # noqa: E402
from orias.diag import Unsupported  # noqa: E402
from orias.isa.isa_table import IllegalWord, load  # noqa: E402
from orias.ori.ir import Inst  # noqa: E402
from orias.target.decoder_class import table_of_sm  # noqa: E402
from orias.tools.labels import code_sections  # noqa: E402
from tests.nvtools import find  # noqa: E402

FILES = {"GPR": 0, "PRED": P_BASE, "UGPR": UR_BASE, "UPRED": UP_BASE}
_SECTION = re.compile(r"^//-+ (\S+)\s+-+")
_ROW = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(.*?)\s*// \|(.*)\|\s*$")
_HEAD = re.compile(r"// \|(.*)\|\s*$")


class Columns:
    """The columns of a table: unit by character position."""

    def __init__(self) -> None:
        self.titles: list[tuple[int, int, int]] = []
        self.digits: dict[int, str] = {}

    def read(self, body: str) -> None:
        """One line of the header."""
        if re.search(r"[A-Z]{3}", body):
            self.titles = []
            self.digits = {}
            at = 0
            for part in body.split("|"):
                title = part.strip()
                if title in FILES:
                    self.titles.append((at, at + len(part), FILES[title]))
                elif title:
                    raise SystemExit(f"unknown register file {title}")
                at += len(part) + 1
        else:
            for i, c in enumerate(body):
                if c.isdigit():
                    self.digits[i] = self.digits.get(i, "") + c

    def units(self) -> dict[int, int]:
        out = {}
        for i, text in self.digits.items():
            for start, end, base in self.titles:
                if start <= i < end:
                    out[i] = base + int(text)
        return out


def ranges(path: Path, limit: float) -> dict[str, dict[int, tuple[set[int], set[int], str]]]:
    """(reads, writes, text) of each instruction, by section and address."""
    tool = find("nvdisasm")
    assert tool is not None
    command = [tool, "-c", "-plr", "-lrm", "narrow", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    out: dict[str, dict[int, tuple[set[int], set[int], str]]] = {}
    section = ""
    columns = Columns()
    units: dict[int, int] = {}
    for line in done.stdout.splitlines():
        m = _SECTION.match(line)
        if m:
            section = m.group(1)
            columns, units = Columns(), {}
            continue
        m = _ROW.match(line)
        if m:
            units = units or columns.units()
            reads, writes = set(), set()
            for i, c in enumerate(m.group(3)):
                if c in "^vx" and i in units:
                    if c in "vx":
                        reads.add(units[i])
                    if c in "^x":
                        writes.add(units[i])
            out.setdefault(section, {})[int(m.group(1), 16)] = (reads, writes, m.group(2))
            continue
        m = _HEAD.search(line)
        if m and not units:
            columns.read(m.group(1))
    return out


def names(units: set[int]) -> str:
    return ",".join(unit_name(u) for u in sorted(units))


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--limit", type=float, default=20)
    given = parser.parse_args(argv)
    total = good = 0
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    unknown: Counter[str] = Counter()
    slow: list[Path] = []
    for path in [q for p in given.files for q in (sorted(p.rglob("*.cubin")) if p.is_dir() else [p])]:
        file = ElfFile(path.read_bytes())
        table = load(table_of_sm(file.sm))
        try:
            theirs = ranges(path, given.limit)
        except subprocess.TimeoutExpired:
            slow.append(path)
            continue
        for s in code_sections(file):
            for addr, (reads, writes, text) in theirs.get(s.name, {}).items():
                word = int.from_bytes(s.data[addr : addr + 16], "little")
                try:
                    d = table.decode(word)
                    a = accesses(Inst(d.op, d.dst, d.src, d.guard))
                except (IllegalWord, Unsupported) as e:
                    unknown[str(e)[-90:]] += 1
                    continue
                ours_r = {r >> 8 for r in a.reads if r >> 8 < B_BASE}
                ours_w = {w >> 8 for w in a.writes if w >> 8 < B_BASE}
                total += 1
                if (ours_r, ours_w) == (reads, writes):
                    good += 1
                    continue
                for kind, ours, their in (("reads", ours_r, reads), ("writes", ours_w, writes)):
                    if ours != their:
                        note = (
                            f"{table.name} {text} | ours only {names(ours - their)} | theirs only {names(their - ours)}"
                        )
                        wrong[d.op.base, kind].append(note)
    print(f"{total} instructions, {good} agree ({100 * good / max(1, total):.4f} %)")
    for (base, kind), notes in sorted(wrong.items(), key=lambda x: -len(x[1])):
        print(f"{len(notes):6} {base} {kind}: {notes[0]}")
        if len(notes) > 1:
            print(f"{'':7}{notes[len(notes) // 2]}")
    for path in slow:
        print(f"{path}: nvdisasm takes longer than {given.limit:g} s")
    for what, n in unknown.most_common(20):
        print(f"{n:6} not decoded: {what}")
    if given.report:
        lines = ["| operation | | instructions | example |", "|---|---|---|---|"]
        for (base, kind), notes in sorted(wrong.items()):
            lines.append(f"| {base} | {kind} | {len(notes)} | {notes[0].replace('|', '/')} |")
        given.report.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
