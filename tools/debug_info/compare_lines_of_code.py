"""Compares line tables of Orias and ptxas: the call-site stacks that `nvdisasm -gi` shows, over PTX files with `.loc`.

python -m tools.debug_info.compare_lines_of_code CORPUS [--limit N]

Code differs, so what is compared are the sets of stacks (lines of the code and of its call sites) of each file, and the
shape of the tables: rows with line 0, instructions without a line, stacks by depth.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import orias
from tests.corpus.test_corpus import arch_of, needs_objects
from tests.nvtools import tool

Stack = tuple[tuple[str, int], ...]
_LINE = re.compile(r'//## File "([^"]*)", line (\d+)')
_CODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?);")


def stacks(cubin: Path) -> list[Stack]:
    """The stack of each instruction but padding, from the inside; empty before the first line."""
    done = subprocess.run([tool("nvdisasm"), "-c", "-gi", str(cubin)], capture_output=True, text=True, timeout=120)
    out: list[Stack] = []
    now: list[tuple[str, int]] = []
    fresh = False
    for line in done.stdout.splitlines():
        if line.startswith(".text"):
            now = []
        m = _LINE.search(line)
        if m:
            if not fresh:
                now = []
            now.append((m[1], int(m[2])))
            fresh = True
        elif (code := _CODE.match(line)) and not re.search(r"\bNOP$|\bBRA `\(\.L_x_\d+\)$", code[1]):
            out.append(tuple(now))
            fresh = False
    return out


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
