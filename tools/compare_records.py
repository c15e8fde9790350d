"""Compares our cubins with ptxas's, record by record: sections, symbols and `.nv.info`, over files of a corpus.

python tools/compare_records.py CORPUS [--limit N] [--offset K]

What must be equal is compared whole; offsets of instructions, which follow from the code, only as present or absent.
Prints how often each difference occurs and one file that shows it.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import NAMES, decode
from tests.corpus.test_corpus import arch_of, needs_objects
from tests.nvtools import tool

CODE_DEPENDENT = frozenset(
    ("REGCOUNT", "FRAME_SIZE", "MIN_STACK_SIZE", "MAX_STACK_SIZE", "EXIT_INSTR_OFFSETS", "INT_WARP_WIDE_INSTR_OFFSETS",
     "COOP_GROUP_INSTR_OFFSETS", "COOP_GROUP_MASK_REGIDS", "MBARRIER_INSTR_OFFSETS", "INDIRECT_BRANCH_TARGETS", "SYSCALL_OFFSETS",
     "INSTR_REG_MAP", "ATOM16_EMUL_INSTR_REG_MAP", "UNUSED_LOAD_BYTE_OFFSET", "SW2861232_WAR", "EXTERNS", "S2RCTAID_INSTR_OFFSETS"),
)  # fmt: skip


def features(data: bytes) -> set[str]:
    """What two cubins of one program should share, a line each."""
    elf = ElfFile(data)
    out = {f"ELF type {elf.type} flags {elf.flags:#x}"}
    for s in elf.sections:
        out.add(f"section {s.name} type {s.type:#x} flags {s.flags:#x} align {s.align}")
        if not s.name.startswith(".nv.info"):
            continue
        for r in decode(s.data, s.name):
            name = NAMES.get(r.code, hex(r.code))
            words = r.words()
            if s.name == ".nv.info" and words and words[0] < len(elf.symbols):
                words = [elf.symbols[words[0]].name, *words[1:]]
            out.add(f"{s.name} {name}" + ("" if name in CODE_DEPENDENT else f" {r.value:#x} {words}"))
    for y in elf.symbols:
        if y.name:
            out.add(f"symbol {y.name} bind {y.bind} type {y.type} other {y.other:#x}")
    return out


def general(line: str) -> str:
    """The difference without the names of the program: what to group by."""
    words = line.split()
    if words[0] == "section":
        return " ".join(["section", ".".join(words[1].split(".")[: 3 if ".nv" in words[1] else 2]), *words[2:]])
    if words[0] == "symbol":
        return " ".join(["symbol", words[1] if words[1].startswith((".", "$")) else "NAME", *words[2:]])
    if words[0].startswith(".nv.info"):
        return " ".join([".nv.info.K" if words[0] != ".nv.info" else ".nv.info", *words[1:3]])
    return line


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("corpus", type=Path)
    p.add_argument("--limit", type=int, default=60)
    p.add_argument("--offset", type=int, default=0)
    a = p.parse_args()
    files = sorted(a.corpus.rglob("*.ptx"))
    files = files[a.offset :: max(1, len(files) // a.limit)]
    counts: dict[str, list[str]] = defaultdict(list)
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder) / "a.cubin"
        for f in files:
            text = f.read_text(errors="replace")
            arch = arch_of(text)
            if arch is None:
                continue
            extra = ["-c"] if needs_objects(text) else []
            theirs.unlink(missing_ok=True)
            try:
                ours = orias.compile(text, arch=arch, compile_only=bool(extra)).data
                subprocess.run([tool("ptxas"), f"-arch={arch}", *extra, str(f), "-o", str(theirs)], capture_output=True, timeout=120, check=False)  # fmt: skip
                expected = theirs.read_bytes()
            except (orias.CompileError, OSError, subprocess.TimeoutExpired) as e:
                print(f"{f.name}: {str(e)[:100]}")
                continue
            done += 1
            x, y = features(ours), features(expected)
            for line in {general(n) + " | ours only" for n in x - y} | {general(n) + " | ptxas only" for n in y - x}:
                counts[line].append(f"{f.parent.name}/{f.name}")
    print(f"{done} files compared")
    for line, where in sorted(counts.items(), key=lambda n: (-len(n[1]), n[0])):
        print(f"{len(where):4d} {line}   {where[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
