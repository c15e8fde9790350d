"""Which PTX instructions become which SASS instructions, by compiling: ``python -m tools.isa.ptx_of_sass [FILE_OR_FOLDER...]``.

Writes ``orias/explore/data/ptx_of_sass.txt``, which the instruction reference shows: a line for each SASS mnemonic, with the PTX
instructions whose lines it comes from, the most frequent first.  Without arguments it compiles the programs of the tests, and reads the
cases of the lowering.
"""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.isa.operations import facts
from orias.options import Options

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "orias/explore/data/ptx_of_sass.txt"
SOURCES = tuple(
    ROOT / "tests" / name
    for name in ("kernels", "asynchronous", "wgmma", "explore/ptx", "lower/cases", "lower_math/cases")
)
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a")
"""A program is compiled for the targets of two of them, which rotate."""
MOST = 14
SHARE = 100
"""A PTX instruction that makes less than one in so many of a mnemonic's instructions is left out."""
HEAD = """# SASS mnemonic: PTX instructions whose lines become it, the most frequent first.
# Written by `python -m tools.isa.ptx_of_sass`, which compiles the programs of the tests for all targets in turn.
"""
_CASES = ("lines", "later", "cases")
"""Folders of files with cases of the lowering."""
_TYPE = re.compile(r"[usbf]\d+(x\d+)?|bf16(x2)?|f16x2|tf32|pred|r[nzmp]i?|ftz|sat|v[248]|\d.*|approx|full")


def opcode(line: str) -> str:
    """The opcode of a PTX line without types and roundings; empty if there is none."""
    text = re.sub(r"^\s*(@!?%?[\w$]+\s+)?", "", line.split("//")[0])
    word = re.match(r"[a-z][\w.:]*", text)
    if word is None or text.endswith(":"):
        return ""
    parts = word.group().split(".")
    kept = [p for p in parts[1:3] if not _TYPE.fullmatch(p)]
    return ".".join([parts[0], *kept])


def count(text: str, arch: str, found: dict[str, Counter[str]]) -> None:
    """Adds what a program becomes."""
    states: dict[int, Any] = {}
    lines = text.split("\n")

    def trace(phase: str, fn: Any) -> None:
        states[id(fn)] = fn

    compile_text([("k.ptx", text)], Options(arch), trace)
    for fn in states.values():
        for b in fn.blocks:
            for i in b.insts:
                name = opcode(lines[i.loc - 1]) if 0 < i.loc <= len(lines) else ""
                if name:
                    found.setdefault(i.op.base, Counter())[name] += 1


def count_cases(text: str, found: dict[str, Counter[str]]) -> None:
    """Adds the cases of a file of ``tests/lower/cases``: a PTX line, then what it becomes."""
    name = ""
    for line in text.split("\n"):
        if not line.startswith(" "):
            name = opcode(line)
        elif line.startswith("    ") and name:
            made = re.match(r"(?:@\S+ )?(?:[^=]* = )?([A-Z][A-Z0-9_]+)(?:\.| |$)", line.strip())
            if made is not None and facts(made.group(1)) is not None:
                found.setdefault(made.group(1), Counter())[name] += 1


def table(found: dict[str, Counter[str]]) -> str:
    """The file of what was counted."""
    rows = []
    for name in sorted(found):
        least = sum(found[name].values()) / SHARE
        shown = [ptx for ptx, n in found[name].most_common(MOST) if n >= least]
        rows.append(f"{name}: {' '.join(shown)}\n")
    return HEAD + "".join(rows)


def inputs(places: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The programs and the files of cases of files and folders."""
    programs = [f for a in places for f in (sorted(a.rglob("*.ptx")) if a.is_dir() else [a])]
    return programs, [f for a in places if a.is_dir() for f in sorted(a.rglob("*.txt")) if f.parent.name in _CASES]


def count_program(number: int, file: Path, found: dict[str, Counter[str]]) -> None:
    """Adds what a program becomes for the two targets of its turn that take it."""
    text = file.read_text(encoding="utf-8", errors="replace")
    left = 2
    for k in range(len(TARGETS)):
        try:
            count(text, TARGETS[(number + 4 * k) % len(TARGETS)], found)
        except CompileError:
            continue
        left -= 1
        if left == 0:
            break


def main(arguments: list[str]) -> None:
    programs, cases = inputs([Path(a) for a in arguments] or SOURCES)
    found: dict[str, Counter[str]] = {}
    for file in cases:
        count_cases(file.read_text(encoding="utf-8"), found)
    for k, file in enumerate(programs):
        count_program(k, file, found)
    OUT.write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
