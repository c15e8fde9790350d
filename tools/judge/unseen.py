"""The hazard checker on code that its distances were not taken from: functions of the cubins inside libraries and wheels.

usage: python -m tools.judge.unseen RESULTS.jsonl FILE... [--measure OUT.csv] [--again] [--arch N,...] [--each N] [--largest N]
           [--apart NAME,...] [--until HH:MM] [--json] [--quiet]

FILEs are wheels (.whl), libraries, fat binaries or cubins.  Of each file and target --each (100) distinct functions of at most --largest
(1500) instructions are taken, the same ones each time.  RESULTS gets a line a function with its findings, which are false alarms.  One
function in five is held apart (the hash of its code says which), and all of the files that --apart names: --measure writes the distances
of the others alone, for ``tools/latency/bounds.py write``.  --again: only the functions for which RESULTS has a finding are checked again.
"""

import argparse
import hashlib
import json
import sys
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from orias.check.cubin import SectionCode
from orias.check.hazard_flow import Observer
from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.fatbin import KIND_CUBIN, entries
from orias.cubin.reader import Reader
from orias.isa.isa_table import load
from orias.progress import Bar
from orias.target.profile import profile_of_sm
from orias.timing.distance_classes import producer_class
from orias.timing.latency import base_class
from orias.timing.needs import Facts
from tools.judge.clock import moment
from tools.latency.bounds import Collector, write_rows

APART = 5
"""One function of so many is held apart."""


@final
class Function:
    """A code section of a cubin of a library: where it is, and the hash of its code."""

    __slots__ = ("cubin", "index", "key", "name", "sm", "words")

    def __init__(self, cubin: int, index: int, sm: int, name: str, code: bytes) -> None:
        self.cubin, self.index, self.sm, self.name = cubin, index, sm, name
        self.words = len(code) // 16
        self.key = hashlib.sha256(code).hexdigest()


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files with cubins in a wheel, or the file itself."""
    if path.suffix != ".whl":
        yield path.name, path.read_bytes()
        return
    with zipfile.ZipFile(path) as z:
        for member in z.namelist():
            if ".so" in member or member.endswith((".a", ".cubin", ".fatbin")):
                yield Path(member).name, z.read(member)


def cubins(data: bytes) -> Iterator[bytes]:
    """The cubins of a file, empty bytes for those that cannot be read here (damaged, or of a target without tables)."""
    if data[:4] == b"\x7fELF" and data[18:20] == b"\xbe\x00":
        yield data
        return
    for entry in entries(data):
        if entry.kind == KIND_CUBIN:
            try:
                cubin = entry.data()
                Reader(cubin)
                yield cubin
            except CubinError:
                yield b""


def functions(data: bytes, arches: list[int], each: int, largest: int) -> list[Function]:
    """Distinct functions of the cubins of a file, at most `each` of a target: those whose hashes are the smallest."""
    out: dict[int, dict[str, Function]] = defaultdict(dict)
    for number, cubin in enumerate(cubins(data)):
        if not cubin:
            continue
        reader = Reader(cubin)
        if arches and reader.sm not in arches:
            continue
        some = out[reader.sm]
        for s in reader.elf.sections:
            if s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR and 0 < len(s.data) <= 16 * largest:
                f = Function(number, s.index, reader.sm, s.name.removeprefix(".text."), bytes(s.data))
                some.setdefault(f.key, f)
        for key in sorted(some)[each:]:
            del some[key]
    return sorted((f for some in out.values() for f in some.values()), key=lambda f: f.cubin)


def check(f: Function, cubin: bytes, observer: Observer | None) -> tuple[list[dict[str, Any]], int]:
    """Findings in a function, and how many instructions were not checked."""
    reader = Reader(cubin)
    profile = profile_of_sm(reader.sm)
    facts = Facts(profile.latency_class)
    section = reader.elf.sections[f.index]
    code = SectionCode(reader.elf, section, load(profile.table), facts)
    out = []
    for x in code.findings(None, observer):
        text = [
            code.table.text(int.from_bytes(section.data[16 * i : 16 * i + 16], "little"), 16 * i)
            for i in (x.other, x.index)
            if i >= 0
        ]
        first = producer_class(code.nodes[x.other].d.op, 1, facts.units) if x.other >= 0 else ""
        second = base_class(code.nodes[x.index].d.op, facts.units)
        out.append({"rule": x.rule, "at": 16 * x.index, "pair": f"{first} {second}", "text": " ; ".join(text), "message": x.text, "have": x.have, "need": x.need})  # fmt: skip
    return out, sum(not n.known for n in code.nodes)


def table(lines: list[dict[str, Any]]) -> str:
    """A row a target, for the functions to measure by and for those held apart."""
    total: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for x in lines:
        row = total[x["arch"], x["apart"]]
        row.update(functions=1, instructions=x["instructions"], unknown=x["unknown"], findings=len(x["alarms"]))
        row["with"] += bool(x["alarms"])
    out = [
        "| target | functions | | instructions | findings | functions with one | not checked |",
        "|---|---|---|---|---|---|---|",
    ]
    for (arch, apart), n in sorted(total.items(), key=lambda t: (t[0][1], int(t[0][0][3:]))):
        cells = (n["functions"], "apart" if apart else "", n["instructions"], n["findings"], n["with"], n["unknown"])
        out.append(f"| {arch} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(out)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.judge.unseen")
    parser.add_argument("results", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--arch", default="")
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--largest", type=int, default=1500)
    parser.add_argument("--apart", default="")
    parser.add_argument("--until", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    a = parser.parse_args()
    arches, whole = [int(x) for x in a.arch.split(",") if x], a.apart.split(",")
    end, bar = moment(a.until), Bar(a.quiet or a.json)
    lines = [json.loads(x) for x in a.results.read_text().splitlines()] if a.results.exists() else []
    known = {(x["file"], x["arch"], x["key"]): x for x in lines}
    collectors: dict[int, Collector] = {}
    for path in a.files:
        if time.time() > end:
            break
        for name, data in contents(path):
            some = functions(data, arches, a.each, a.largest)
            if a.again:
                some = [f for f in some if known.get((name, f"sm_{f.sm}", f.key), {}).get("alarms")]
            else:
                some = [f for f in some if (name, f"sm_{f.sm}", f.key) not in known]
            wanted = {number: [f for f in some if f.cubin == number] for number in {f.cubin for f in some}}
            for number, cubin in enumerate(cubins(data)):
                for f in wanted.get(number, []):
                    if time.time() > end:
                        break
                    bar(number, len(some), f"sm_{f.sm} {name}")
                    apart = name in whole or int(f.key[:8], 16) % APART == 0
                    model = profile_of_sm(f.sm).latency_class
                    observer = collectors.setdefault(model, Collector(model)) if a.measure and not apart else None
                    try:
                        alarms, unknown = check(f, cubin, observer)
                    except CubinError as e:
                        alarms, unknown = [{"rule": "word", "text": str(e)}], 0
                    line = {
                        "file": name, "key": f.key, "name": f.name, "arch": f"sm_{f.sm}", "apart": apart, "instructions": f.words,
                        "unknown": unknown, "alarms": alarms,
                    }  # fmt: skip
                    if a.again:
                        known[name, f"sm_{f.sm}", f.key].update(line)
                    else:
                        lines.append(line)
        a.results.write_text("".join(json.dumps(x) + "\n" for x in lines))
        if a.measure:
            write_rows(a.measure, collectors)
    print(json.dumps(lines) if a.json else table(lines))
    return 1 if any(x["alarms"] for x in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
