"""Compares line tables of Orias and ptxas: the line of each instruction and those of the calls around it, over PTX files with `.loc`.

python -m tools.debug_info.compare_lines_of_code CORPUS [--limit N]

Code differs, so what is compared are the sets of stacks (lines of the code and of its call sites) of each file, and the
shape of the tables: rows with line 0, instructions without a line, stacks by depth.  Stacks are read from the tables: the text of
`nvdisasm -gi` leaves out a change of the call site alone.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.lineread import LineEntry, call_sites, line_tables
from tests.corpus.test_corpus import arch_of, needs_objects
from tests.nvtools import tool

Stack = tuple[tuple[str, int], ...]
_SECTION = re.compile(r"^(\.text\.\S+):")
_CODE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?);")
_PADDING = re.compile(r"\bNOP$|\bBRA `\(\.L_x_\d+\)$")


def stacks(cubin: Path, dropped: bool = False) -> list[Stack]:
    """The stack of each instruction but padding, from the inside; empty before the first line.

    ``dropped``: with the rows left out that ptxas leaves out (`without_equal_lines`).
    """
    done = subprocess.run([tool("nvdisasm"), "-c", str(cubin)], capture_output=True, text=True, timeout=120)
    elf = ElfFile(cubin.read_bytes())
    tables = {elf.sections[k].name: rows for k, rows in line_tables(elf).items()}
    if dropped:
        tables = {name: without_equal_lines(rows) for name, rows in tables.items()}
    out: list[Stack] = []
    rows: list[LineEntry] = []
    offsets: list[int] = []
    for line in done.stdout.splitlines():
        if m := _SECTION.match(line):
            rows = tables.get(m[1], [])
            offsets = [r.offset for r in rows]
        elif (code := _CODE.match(line)) and not _PADDING.search(code[2]):
            k = bisect_right(offsets, int(code[1], 16))
            out.append(tuple((r.file, r.line) for r in call_sites(rows, rows[k - 1])) if k else ())
    return out


def without_equal_lines(rows: list[LineEntry]) -> list[LineEntry]:
    """The rows of a section as ptxas 13.0.88 has them: none whose line number is that of the row before, in whatever file and call, but
    call sites that come back at another address (docs/facts/cubin.md, "Rows of line tables")."""
    sites = {r.caller for r in rows}
    out: list[LineEntry] = []
    number = [0]
    for k, r in enumerate(rows, 1):
        caller = number[r.caller] if r.caller < k else 0
        last = out[-1] if out else None
        if last is not None and last.line == r.line:
            again = k in sites and (last.file, last.caller) == (r.file, caller) and last.offset != r.offset
            if not again:
                number.append(len(out))
                continue
        out.append(LineEntry(r.offset, r.file, r.line, caller))
        number.append(len(out))
    return out


def without_repeated_calls(stack: Stack) -> Stack:
    """A stack without what ptxas 13.0.88 loses of it: levels from a place to the same place again, and files of call sites."""
    out: list[tuple[str, int]] = []
    for place in reversed(stack):
        if place in out:
            del out[out.index(place) :]
        out.append(place)
    return tuple((f if k == len(out) else "", n) for k, (f, n) in enumerate(out, 1))[::-1]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("corpus", type=Path)
    p.add_argument("--limit", type=int, default=20)
    a = p.parse_args()
    found = [
        f
        for f in sorted(a.corpus.rglob("*.ptx"))
        if "\t.loc" in (text := f.read_text(errors="replace")) and len(text) < 60_000
    ]
    found = found[:: max(1, len(found) // a.limit)]
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder) / "a", Path(folder) / "b"
        for f in found:
            text = f.read_text(errors="replace")
            arch = arch_of(text)
            if arch is None or needs_objects(text):
                continue
            theirs.unlink(missing_ok=True)
            subprocess.run(
                [tool("ptxas"), f"-arch={arch}", "-lineinfo", str(f), "-o", str(theirs)],
                capture_output=True,
                timeout=120,
            )
            try:
                ours.write_bytes(orias.compile(text, arch=arch, lineinfo=True).data)
            except orias.CompileError:
                continue
            if not theirs.exists():
                continue
            x, y = stacks(theirs), stacks(ours)
            sums["files"] += 1
            for name, s in (("ptxas", x), ("ours", y)):
                sums[f"{name} instructions"] += len(s)
                sums[f"{name} without a line"] += sum(not t for t in s)
                sums[f"{name} at line 0"] += sum(any(n == 0 for _, n in t) for t in s)
                sums[f"{name} inlined"] += sum(len(t) > 1 for t in s)
            common = set(x) & set(y)
            sums["ours with a stack that ptxas has"] += sum(t in common for t in y)
            sums["ptxas with a stack that ours has"] += sum(t in common for t in x)
            if set(y) - set(x):
                print(f.name, sorted(set(y) - set(x))[:2])
    for name, count in sums.items():
        print(f"{count:7d} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
