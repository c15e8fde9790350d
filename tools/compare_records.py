"""Compares our cubins with ptxas's, record by record: sections, symbols, relocations and `.nv.info`.

python tools/compare_records.py PROGRAMS [--arch A ...] [--to A ...] [--bytes N] [--mode exe|c|ewp|g|both] [--limit N] [--offset K] [--show NAME]

PROGRAMS is a folder of .ptx files, or a JSON file {name: {"ptx": text without header, "targets": null, "sm_90+" or a list}}
(`tests/cubin/data/record_programs.json`).  What must be equal is compared whole; offsets of instructions, which follow from the
code, only by their number.  Prints for each target and mode how many programs are equal in sections, symbols, relocations and
records, then each difference with the programs that have it, the most frequent first, and how many files differ for each reason of
`tools/record_reasons.py` (docs/cubin.md explains them) and for none.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import orias
from orias.cubin.capsule.capsule_parser import MERCURY_PREFIXES
from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import NAMES, decode
from tests.corpus.test_corpus import arch_of, needs_objects
from tests.nvtools import tool
from tools.record_reasons import reason_of, unexplained_order

CODE_DEPENDENT = frozenset(
    ("REGCOUNT", "FRAME_SIZE", "MIN_STACK_SIZE", "MAX_STACK_SIZE", "MBARRIER_INSTR_OFFSETS", "INDIRECT_BRANCH_TARGETS", "INSTR_REG_MAP",
     "SW2861232_WAR", "EXTERNS", "ANNOTATIONS", "SHARED_SCRATCH"),
)  # fmt: skip
COUNTED = frozenset(
    ("EXIT_INSTR_OFFSETS", "INT_WARP_WIDE_INSTR_OFFSETS", "COOP_GROUP_INSTR_OFFSETS", "COOP_GROUP_MASK_REGIDS", "SYSCALL_OFFSETS",
     "ATOM16_EMUL_INSTR_REG_MAP", "UNUSED_LOAD_BYTE_OFFSET", "S2RCTAID_INSTR_OFFSETS"),
)  # fmt: skip
"""Records whose number of words must be equal, but not their values."""
KINDS = ("section", "symbol", "reloc", "record")
HEAD = ".version {version}\n.target {arch}\n.address_size 64\n"


def features(data: bytes) -> set[str]:
    """What two cubins of one program should share, a line each."""
    elf = ElfFile(data)
    # The kind of file and the sections of a capsule are left out.
    sections = [s for s in elf.sections if not s.name.startswith(MERCURY_PREFIXES)]
    out = {f"section ELF type {elf.type} flags {elf.flags & 0xFFFF00:#x}"}
    out.add("section order " + " ".join(s.name for s in sections))
    for s in sections:
        link = elf.sections[s.link].name if s.link < len(elf.sections) else str(s.link)
        # `info` of a code section holds its symbol and register count.
        info = elf.sections[s.info].name if s.flags & 0x40 and s.info < len(elf.sections) else ""
        size = s.size if s.name.startswith((".nv.shared", ".nv.global", ".nv.constant")) else ""
        out.add(
            f"section {s.name} type {s.type:#x} flags {s.flags:#x} align {s.align} entsize {s.entsize} link {link} info {info} size {size}"
        )
        if s.type in (4, 9):
            # Their number in code follows from the code, and `.debug_frame` from the code's frames.
            for (kind, name), n in Counter(
                (r.type, elf.symbols[r.symbol].name) for r in elf.relocation_entries(s)
            ).items():
                many = "" if ".text" in s.name or "debug" in s.name else f" times {n}"
                out.add(f"reloc {s.name} type {kind} symbol {name}{many}")
        if s.name.startswith(".nv.info"):
            out |= set(records(elf, s.name, s.data))
    for y in elf.symbols:
        if y.name and not (y.section < len(elf.sections) and elf.sections[y.section].name.startswith(MERCURY_PREFIXES)):
            where = elf.sections[y.section].name if y.section < len(elf.sections) else f"{y.section:#x}"
            place = "" if where.startswith((".text", ".debug")) else f" value {y.value:#x} size {y.size}"
            out.add(f"symbol {y.name} bind {y.bind} type {y.type} other {y.other:#x} in {where}{place}")
    return out


def records(elf: ElfFile, section: str, data: bytes) -> Iterator[str]:
    """The records of a section, a line each, and their order."""
    names = []
    for r in decode(data, section):
        name = NAMES.get(r.code, hex(r.code))
        names.append(name)
        words = [f"{w:#x}" for w in r.words()]
        if section == ".nv.info" and words and int(words[0], 16) < len(elf.symbols):
            words[0] = elf.symbols[int(words[0], 16)].name
        elif name in ("PARAM_CBANK", "KPARAM_INFO", "KPARAM_INFO_V2") and int(words[0], 16) < len(elf.symbols):
            y = elf.symbols[int(words[0], 16)]
            words[0] = y.name or elf.sections[y.section].name
        if name in CODE_DEPENDENT:
            yield f"record {section} {name} {words[0] if section == '.nv.info' else ''}"
        elif name in COUNTED:
            yield f"record {section} {name} of {len(words)} words"
        else:
            yield f"record {section} {name} {r.value:#x} {' '.join(words)}"
    if section != ".nv.info":
        yield f"record {section} order {' '.join(names)}"


def general(line: str) -> str:
    """The difference without the names of the program: what to group by."""
    words = line.split()
    kind = words[0]
    if kind == "section" and words[1] == "order":
        return "section order"
    if kind == "record" and words[2] == "order":
        return "record order"
    if kind == "record":
        section = ".nv.info" if words[1] == ".nv.info" else ".nv.info.K"
        return " ".join([kind, section, words[2], *(words[3:] if words[2] in COUNTED else [])])
    if kind == "section" and words[1] != "ELF":
        return " ".join([kind, ".".join(words[1].split(".")[: 3 if ".nv" in words[1] else 2]), *words[2:8]])
    if kind == "symbol":
        name = words[1] if words[1].startswith((".", "$", "__")) else "NAME"
        return " ".join([kind, name, *words[2:8]])
    if kind == "reloc":
        return " ".join([kind, ".".join(words[1].split(".")[:3]), *words[2:4]])
    return line


def programs(where: Path, limit: int, offset: int) -> list[tuple[str, str, object]]:
    """(name, text, targets) of each program; a text of a JSON file has no header."""
    if where.suffix == ".json":
        cases = [(n, c["ptx"], c["targets"]) for n, c in json.loads(where.read_text()).items() if not c.get("options")]
    else:
        cases = [(f"{f.parent.name}/{f.name}", f.read_text(errors="replace"), None) for f in sorted(where.rglob("*.ptx"))]  # fmt: skip
    return cases[offset :: max(1, len(cases) // limit)]


def allowed(targets: object, arch: str) -> bool:
    """Whether a program with these targets may be compiled for a target."""
    if targets is None:
        return True
    number = int("".join(c for c in arch if c.isdigit()))
    if isinstance(targets, str):
        return number >= int("".join(c for c in targets if c.isdigit()))
    return isinstance(targets, list) and arch in targets


MODES = {"exe": [], "c": ["-c"], "ewp": ["-ewp"], "g": ["-g"]}
"""The options of ptxas for each kind of file."""


def jobs(a: argparse.Namespace) -> Iterator[tuple[str, str, str, str]]:
    """(name, text, arch, kind of file) of each compilation."""
    for name, text, targets in programs(a.programs, a.limit, a.offset):
        if a.only and not re.fullmatch(a.only, name):
            continue
        if a.programs.suffix != ".json":
            own = arch_of(text)
            if own is None or len(text) > a.bytes:
                continue
            for arch in a.to or [own]:
                if allowed(own, arch) and (own[-1].isdigit() or own == arch):
                    if needs_objects(text):
                        yield name, text, arch, "c"
                    else:
                        for mode in (a.mode,) if a.mode != "both" else ("exe", "c") if a.to else ("exe",):
                            yield name, text, arch, mode
            continue
        for arch in a.arch:
            if allowed(targets, arch):
                for mode in ("exe", "c") if a.mode == "both" else (a.mode,):
                    yield name, HEAD.format(version="9.0", arch=arch) + text, arch, mode


def judged(text: str, arch: str, mode: str, cache: Path) -> bytes | str:
    """ptxas's cubin of a program, or its first message if it refuses it; kept in the folder."""
    options = [f"-arch={arch}", *MODES[mode]]
    key = hashlib.sha256(" ".join([*options, text]).encode()).hexdigest()[:24]
    source, out, refused = (cache / f"{key}.{end}" for end in ("ptx", "cubin", "txt"))
    if not out.exists() and not refused.exists():
        source.write_text(text)
        command = [tool("ptxas"), *options, str(source), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        source.unlink()
        if not out.exists():
            refused.write_text((done.stderr.splitlines() or [f"exit code {done.returncode}"])[0])
    return out.read_bytes() if out.exists() else refused.read_text()


def reasons(name: str, kind: str, ours: set[str], theirs: set[str]) -> set[str]:
    """Why two sets of features differ; what has no reason is named as it is."""
    found = set()
    for sign, lines in (("+", ours - theirs), ("-", theirs - ours)):
        for line in lines:
            if " order " not in line:
                found.add(reason_of(name, kind, f"{sign} {line}") or f"no reason: {name} {kind} {sign} {line}")
    for what in unexplained_order(ours, theirs):
        found.add(reason_of(name, kind, f"{what} order") or f"no reason: {name} {kind} {what} order")
    return found


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("programs", type=Path)
    p.add_argument("--arch", nargs="+", default=["sm_80", "sm_90", "sm_100a"])
    p.add_argument("--to", nargs="+", default=[], help="targets for the files of a folder, instead of their own")
    p.add_argument("--bytes", type=int, default=1 << 30, help="files of a folder of at most so many bytes")
    p.add_argument("--mode", choices=(*MODES, "both"), default="both")
    p.add_argument("--limit", type=int, default=1000)
    p.add_argument("--offset", type=int, default=0)
    p.add_argument("--only", default="", help="programs whose whole name matches")
    p.add_argument("--cache", type=Path, help="a folder that keeps what ptxas wrote, for the next time")
    p.add_argument("--show", action="store_true", help="print each difference of each program")
    a = p.parse_args()
    where: dict[str, list[str]] = defaultdict(list)
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    causes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, text, arch, mode in jobs(a):
            label = f"{arch} {' '.join(MODES[mode]) or 'exe'}"
            expected = judged(text, arch, mode, a.cache or Path(folder))
            try:
                ours = orias.compile(
                    text, arch=arch, compile_only=mode == "c", extensible=mode == "ewp", debug=mode == "g"
                ).data
            except orias.CompileError as e:
                if isinstance(expected, bytes):
                    where["refused by us only: " + str(e)[:110]].append(f"{name} {label}")
                    tally[label]["refused by us only"] += 1
                    causes[reason_of(name, label, "refused by us only") or f"no reason: {name} {label} refused"] += 1
                continue
            if isinstance(expected, str):
                where["refused by ptxas only: " + expected[:110]].append(f"{name} {label}")
                tally[label]["refused by ptxas only"] += 1
                continue
            x, y = features(ours), features(expected)
            tally[label]["compared"] += 1
            for kind in KINDS:
                tally[label][kind] += {n for n in x if n.startswith(kind)} == {n for n in y if n.startswith(kind)}
            tally[label]["all"] += x == y
            if a.show:
                for line in [*(f"+ {n}" for n in sorted(x - y)), *(f"- {n}" for n in sorted(y - x))]:
                    print(name, label, line)
            for line in {general(n) + " | ours only" for n in x - y} | {general(n) + " | ptxas only" for n in y - x}:
                where[line].append(f"{name} {label}")
            causes.update(reasons(name, label, x, y))
    for label, n in tally.items():
        equal = ", ".join(f"{kind} {n[kind]}" for kind in (*KINDS, "all"))
        refused = "".join(f", {k} {n[k]}" for k in n if k.startswith("refused"))
        print(f"{label}: {n['compared']} compared; equal: {equal}{refused}")
    for line, found in sorted(where.items(), key=lambda n: (-len(n[1]), n[0])):
        print(f"{len(found):4d} {line}   [{', '.join(found[:: max(1, len(found) // 3)][:4])}]")
    print(
        f"files that differ, by reason ({sum(n['compared'] - n['all'] for n in tally.values())} files, some for several reasons):"
    )
    for cause, count in causes.most_common():
        print(f"{count:4d} {cause}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
