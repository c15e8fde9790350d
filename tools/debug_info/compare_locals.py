"""Compares, with -g, at which PTX lines the registers of the PTX text can be found: Orias beside ptxas.

python -m tools.debug_info.compare_locals FILE.ptx ... [--arch sm_80]

A place is a function, a register and a PTX line, at one of whose instructions the table of registers (`.nv_debug_info_reg_sass`)
says where the register's value is.  Not counted: registers of ptxas's own routines, and the line that writes the register, where
the value is there only if the line has several instructions.  Prints how many places each has, and how many of ptxas's Orias has too.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from pathlib import Path

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.lineread import PTX_LINE, line_tables
from tests.debuginfo.test_debuginfo import tables
from tests.nvtools import tool

Place = tuple[str, str, int]


def places(cubin: bytes) -> tuple[set[Place], set[tuple[str, int]]]:
    """The places of a cubin, and its lines: (function, line) with instructions."""
    file = ElfFile(cubin)
    lines = {
        file.sections[index].name.removeprefix(".text."): rows for index, rows in line_tables(file, PTX_LINE).items()
    }
    out: set[Place] = set()
    known = {(name, row.line) for name, rows in lines.items() for row in rows}
    for name, rows in tables(cubin).items():
        table = sorted(lines.get(name, ()), key=lambda row: row.offset)
        starts = [row.offset for row in table]
        for register, _, _, first, last, _ in rows:
            for offset in range(first, last + 1, 16):
                at = bisect_right(starts, offset) - 1
                if at >= 0:
                    out.add((name, register, table[at].line))
    return out, known


def is_counted(place: Place, text: list[str]) -> bool:
    """Whether a place is one of the program's own registers, at a line that does not write it."""
    _, register, line = place
    if "__cuda" in register or not 0 < line <= len(text):
        return False
    written = re.match(r"\s*(?:@!?\S+\s+)?\{?\s*[a-z][\w.:]*\s+(\{[^}]*\}|[^,;]*)", text[line - 1])
    return written is None or register not in re.findall(r"[%\w$]+", written[1])


def target_of(text: str) -> str:
    """The SM of the .target directive."""
    found = re.search(r"^\s*\.target\s+(sm_\w+)", text, re.MULTILINE)
    return found[1] if found else "sm_80"


def compared(text: str, arch: str) -> tuple[int, int, int, int]:
    """Numbers of places in a file: ptxas's, ours, those that both have, and ptxas's at lines that have code in ours."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_text(text)
        command = [tool("ptxas"), f"-arch={arch}", "-g", str(source), "-o", str(out)]
        subprocess.run(command, capture_output=True, timeout=120, check=False)
        theirs = places(out.read_bytes())[0] if out.exists() else set()
    try:
        ours, our_lines = places(orias.compile(text, arch=arch, debug=True).data)
    except (orias.CompileError, StopIteration):
        ours, our_lines = set(), set()
    lines = text.splitlines()
    theirs = {x for x in theirs if is_counted(x, lines)}
    ours = {x for x in ours if is_counted(x, lines)}
    shared = {x for x in theirs if (x[0], x[2]) in our_lines}
    return len(theirs), len(ours), len(theirs & ours), len(shared)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", type=Path)
    p.add_argument("--arch", help="another target than the file's")
    a = p.parse_args()
    totals = [0, 0, 0, 0]
    for path in a.files:
        try:
            text = path.read_text()
            arch = target_of(text)
            counts = compared(text.replace(arch, a.arch, 1) if a.arch else text, a.arch or arch)
        except StopIteration:
            print(f"{path.name}: ptxas wrote no table")
            continue
        totals = [x + y for x, y in zip(totals, counts, strict=True)]
        print(
            f"{path.name}: ptxas {counts[0]}, orias {counts[1]}, both {counts[2]}; at lines that both have {counts[3]}"
        )
    print(
        f"{totals[0]} places of ptxas: {100 * totals[2] / max(totals[0], 1):.1f} % found by Orias,"
        f" {100 * totals[2] / max(totals[3], 1):.1f} % of those at lines that have code in both"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
