"""Compares what Orias and ptxas say to a debugger, file by file: sections, line stacks, trees of DIEs, places of registers.

python -m tools.debug_info.compare_files lineinfo|debug FILE.ptx ... [--half 0|1] [--differences]

The mode is the option, ``-lineinfo`` or ``-g``.  ``--half`` takes every second file in the order of names, so that one half can be looked
at while the other stays apart.  Line stacks are compared as in `compare_lines_of_code`: how many instructions of Orias have a stack that
ptxas's file has, and the other way round; "but for losses" counts those that are equal once Orias's table loses what ptxas's does (rows
of equal line numbers, levels of repeated calls, files of call sites).  The trees (`pip install pyelftools`) are compared with all values but addresses of code.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import tool
from tools.debug_info.compare_lines_of_code import stacks, without_repeated_calls
from tools.debug_info.compare_locals import Place, is_counted, places, target_of

OPTIONS = {"lineinfo": "-lineinfo", "debug": "-g"}
SECONDS = 400
_CODE = ("DW_AT_low_pc", "DW_AT_high_pc", "DW_AT_location", "DW_AT_ranges")


def tree(cubin: Path) -> list[object]:
    """The DIEs in order: depth, tag, attributes with forms and values that are no addresses."""
    from elftools.elf.elffile import ELFFile

    found: list[object] = []
    with cubin.open("rb") as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info():
            return found
        for unit in elf.get_dwarf_info(relocate_dwarf_sections=False).iter_CUs():
            waiting: list[tuple[Any, int]] = [(unit.get_top_DIE(), 0)]
            while waiting:
                die, depth = waiting.pop()
                values = [
                    (name, a.form, None if a.form == "DW_FORM_addr" or name in _CODE else str(a.value))
                    for name, a in die.attributes.items()
                ]
                found.append((depth, die.tag, values))
                waiting += [(x, depth + 1) for x in reversed(list(die.iter_children()))]
    return found


def _places(cubin: Path, lines: list[str]) -> tuple[set[Place], set[tuple[str, int]]]:
    try:
        found, known = places(cubin.read_bytes())
    except StopIteration:
        return set(), set()
    return {p for p in found if is_counted(p, lines)}, known


def compared(path: Path, mode: str, folder: Path, differences: bool = False) -> Counter[str]:
    """The numbers of one file; ``refused`` if a compiler does not take it."""
    text = path.read_text()
    theirs, ours = folder / "theirs.cubin", folder / "ours.cubin"
    theirs.unlink(missing_ok=True)
    command = [tool("ptxas"), f"-arch={target_of(text)}", OPTIONS[mode], str(path), "-o", str(theirs)]
    subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    try:
        debug = mode == "debug"
        ours.write_bytes(orias.compile(text, arch=target_of(text), lineinfo=not debug, debug=debug).data)
    except orias.CompileError:
        return Counter({"refused": 1})
    if not theirs.exists():
        return Counter({"refused": 1})
    x, y = stacks(theirs), stacks(ours)
    names = [[s.name for s in ElfFile(f.read_bytes()).sections] for f in (theirs, ours)]
    sums = Counter({"files": 1, "sections equal": names[0] == names[1], "instructions": len(y), "ptxas's": len(x)})
    known = set(x), set(y)
    sums["stacks found"] = sum(s in known[0] for s in y)
    sums["ptxas's found"] = sum(s in known[1] for s in x)
    kept = stacks(ours, dropped=True)
    lossy = {without_repeated_calls(s) for s in x}, {without_repeated_calls(s) for s in kept}
    sums["stacks found but for losses"] = sum(
        s in known[0] or without_repeated_calls(t) in lossy[0] for s, t in zip(y, kept, strict=True)
    )
    sums["ptxas's found but for losses"] = sum(s in known[1] or without_repeated_calls(s) in lossy[1] for s in x)
    sums["line 0"] = sum(any(n == 0 for _, n in s) for s in y)
    sums["no line"] = sum(not s for s in y) if all(x) else 0
    if differences:
        print(
            "  sections:",
            *[f"-{n}" for n in names[0] if n not in names[1]],
            *[f"+{n}" for n in names[1] if n not in names[0]],
        )
        for s, n in Counter(s for s in y if s not in known[0]).most_common(9):
            print(f"  {n} x", *[f"{Path(f).name}:{line}" for f, line in s])
    if debug:
        sums["trees equal"] = tree(theirs) == tree(ours)
        there, _ = _places(theirs, text.splitlines())
        here, lines_known = _places(ours, text.splitlines())
        sums["places"] = len(there)
        sums["places found"] = len(there & here)
        sums["places at common lines"] = sum((f, line) in lines_known for f, _, line in there)
    return sums


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("mode", choices=OPTIONS)
    p.add_argument("files", nargs="+", type=Path)
    p.add_argument("--half", type=int, choices=(0, 1))
    p.add_argument("--differences", action="store_true", help="print them")
    a = p.parse_args()
    files = sorted(a.files)
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for path in files if a.half is None else files[a.half :: 2]:
            sums = compared(path, a.mode, Path(folder), a.differences)
            totals += sums
            print(f"{path.name}: {', '.join(f'{k} {n}' for k, n in sums.items())}", flush=True)
    print(", ".join(f"{k} {n}" for k, n in totals.items()))
    shares = [("stacks found", "instructions"), ("ptxas's found", "ptxas's"), ("places found", "places")]
    shares += [("stacks found but for losses", "instructions"), ("ptxas's found but for losses", "ptxas's")]
    for k, n in shares:
        if totals[n]:
            print(f"{k}: {100 * totals[k] / totals[n]:.2f} % of {totals[n]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
