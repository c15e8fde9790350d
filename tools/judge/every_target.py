"""Every PTX file of a folder, for every target: verdict and message of ptxas, NVIDIA's tools and the hazard checker on our cubin, capsules, sizes.

usage: python -m tools.judge.every_target RESULTS.jsonl FOLDER [--arch sm_NN,...] [--sparse sm_NN,...] [--every N] [--largest BYTES]
           [--disassembled N] [--until HH:MM] [--table] [--quiet]

For each target of --arch all files, for each of --sparse every Nth, from another one on for each.  Both compilers at -O3 (``-c`` for files
that are library objects); any beginning is a sample.  RESULTS gets a line a file and target; what stands there is not done again.
Ours must be accepted by ``cuobjdump -elf``, ``nvlink`` and, every Nth (--disassembled, 1), ``nvdisasm -c``; the capsules of both are parsed
to the last byte.  --table prints what RESULTS holds and does nothing.
"""

import argparse
import json
import re
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.corpus import ENTRY, SPILL, USED, instruction_counts, mean
from orias.check import check_cubin
from orias.compiler import compile_text
from orias.cubin.capsule.capsule_parser import capsules
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile
from orias.diag import CompileError
from orias.options import Options
from orias.progress import Bar
from tests.corpus.test_corpus import accepted, needs_objects
from tests.nvtools import tool
from tools.judge.clock import moment

FULL: Final = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
SPARSE: Final = (
    "sm_100", "sm_100f", "sm_103", "sm_103f", "sm_110", "sm_110f", "sm_120", "sm_120f", "sm_121", "sm_121f",
)  # fmt: skip
_LIMIT_S: Final = 120.0
"""Time for ptxas."""
_LATE: Final = "late"
_MESSAGE: Final = re.compile(r"ptxas (?:.+?, line (\d+); )?(error|fatal)\s*: (.*)")
_NEWEST: Final = "; current version is "
"""What follows differs between releases."""

Sizes = tuple[int, int, int]
"""Instructions, registers and bytes of spill stores of a kernel."""


def theirs(path: Path, arch: str, more: Sequence[str], out: Path) -> tuple[str, dict[str, Sizes]]:
    """The first error of ptxas ("" for none), and the sizes of its kernels; the cubin is in `out`."""
    command = [tool("ptxas"), "-v", f"-arch={arch}", *more, str(path), "-o", str(out)]
    try:
        run = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return _LATE, {}
    said = run.stderr.decode(errors="replace")
    if run.returncode:
        found = next((m for m in map(_MESSAGE.match, said.splitlines()) if m), None)
        return _error(int(found[1] or 0), found[3]) if found else f"exit code {run.returncode}", {}
    counts = instruction_counts(out.read_bytes())
    sizes: dict[str, Sizes] = {}
    entry, spill = "", 0
    for line in said.splitlines():
        if m := ENTRY.search(line):
            entry = m[1]
        elif (m := SPILL.search(line)) and entry:
            spill = int(m[1])
        elif (m := USED.search(line)) and entry:
            sizes[entry] = counts.get(entry, 0), int(m[1]), spill
            entry = ""
    return "", sizes


def _error(line: int, text: str) -> str:
    return f"{line}: {text.partition(_NEWEST)[0]}"


def outcome(path: Path, arch: str, work: Path, disassemble: bool) -> dict[str, Any]:
    """A line of the results."""
    text = path.read_text(errors="replace")
    objects = needs_objects(text)
    out = work / "theirs.cubin"
    row: dict[str, Any] = {"file": path.name, "arch": arch, "bytes": len(text)}
    start = time.perf_counter()
    row["theirs"], sizes = theirs(path, arch, ["-c"] if objects else [], out)
    row["their_seconds"] = time.perf_counter() - start
    options = Options(arch)
    options.compile_only = objects
    start = time.process_time()
    try:
        mine = compile_text([(path.name, path.read_bytes())], options)
        row["ours"] = ""
    except CompileError as e:
        mine = None
        row["ours"] = next(_error(d.line, d.message) for d in e.diagnostics if d.severity in ("error", "fatal"))
    except Exception as e:
        mine = None
        row["ours"] = f"internal error: {type(e).__name__}: {e}"[:300]
    row["seconds"] = time.process_time() - start
    if mine is not None:
        row["no_capsule"] = mine.no_capsule
        row["disassembled"] = disassemble
        row["tools"] = _refused(work, mine.data, arch, disassemble)
        row["findings"] = [h.line() for h in check_cubin(mine.data)]
        row["capsules"] = parsed_capsules(mine.data)
        row["kernels"] = {
            k: [(i.instructions, i.registers, i.spill_stores), sizes[k]]
            for k, i in mine.kernels.items()
            if sizes.get(k, (0,))[0]
        }
    if not row["theirs"]:
        row["their_findings"] = [h.line() for h in check_cubin(out.read_bytes())]
        row["their_capsules"] = parsed_capsules(out.read_bytes())
    return row


def _refused(work: Path, cubin: bytes, arch: str, disassemble: bool) -> str:
    """Which of NVIDIA's tools does not take a cubin, and what it says; "" if all do."""
    try:
        accepted(work, cubin, arch, disassemble)
    except AssertionError as e:
        return str(e)
    return ""


def parsed_capsules(data: bytes) -> int | str:
    """The number of capsules of a cubin, or why one cannot be parsed to its last byte."""
    try:
        return len(capsules(ElfFile(data)))
    except CubinError as e:
        return str(e)


def verdict(row: dict[str, Any]) -> str:
    """What a row shows in one phrase."""
    if row["ours"].startswith("internal error"):
        return "internal error"
    if row["theirs"] == _LATE:
        return "ptxas is late"
    if row["theirs"] and row["ours"]:
        return "refused by both" if row["theirs"] == row["ours"] else "refused by both, other message"
    if row["theirs"] or row["ours"]:
        return "we alone accept" if row["theirs"] else "we alone refuse"
    return "compiled"


def table(rows: list[dict[str, Any]]) -> str:
    """A row a target, and what is not as it should be."""
    heads = ("target", "pairs", "compiled", "refused by both", "other verdict or message", "ours with findings", "theirs with findings",
             "disassembled", "not taken by a tool", "without capsule", "ptxas's capsules", "kernels", "instructions", "registers", "spills")  # fmt: skip
    out = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    odd: list[str] = []
    order = [a for a in (*FULL, *SPARSE) if any(r["arch"] == a for r in rows)]
    for arch in [*order, "all"]:
        mine = [r for r in rows if arch in (r["arch"], "all")]
        verdicts = Counter(map(verdict, mine))
        kernels = [pair for r in mine for pair in r.get("kernels", {}).values()]
        cells: list[object] = [arch, len(mine), verdicts["compiled"], verdicts["refused by both"]]
        cells.append(len(mine) - verdicts["compiled"] - verdicts["refused by both"])
        cells += [
            sum(bool(r.get(k)) for r in mine)
            for k in ("findings", "their_findings", "disassembled", "tools", "no_capsule")
        ]
        cells.append(sum(n for r in mine if isinstance(n := r.get("their_capsules"), int)))
        cells.append(len(kernels))
        cells += [f"{mean([max(a[i], 1) / max(b[i], 1) for a, b in kernels]):.3f}" for i in (0, 1)]
        cells.append(sum(a[2] > 0 and not b[2] for a, b in kernels))
        out.append("| " + " | ".join(map(str, cells)) + " |")
    for r in rows:
        what = verdict(r)
        if what not in ("compiled", "refused by both"):
            odd.append(f"{what}: {r['arch']} {r['file']}: {r['theirs']!r} / {r['ours']!r}")
        for k in ("findings", "their_findings", "tools", "no_capsule"):
            if r.get(k):
                odd.append(f"{k}: {r['arch']} {r['file']}: {str(r[k])[:200]}")
        odd += [
            f"{k}: {r['arch']} {r['file']}: {r[k]}" for k in ("capsules", "their_capsules") if isinstance(r.get(k), str)
        ]
        odd += [
            f"spills: {r['arch']} {r['file']} {k}: {a} / {b}"
            for k, (a, b) in r.get("kernels", {}).items()
            if a[2] and not b[2]
        ]
    return "\n".join([*out, *odd])


def pairs(folder: Path, full: list[str], sparse: list[str], every: int, largest: int) -> list[tuple[Path, str]]:
    """Files and targets, in an order of which any beginning is a sample."""
    paths = [p for p in sorted(folder.rglob("*.ptx")) if p.stat().st_size <= largest]
    found = [(p, arch) for p in paths for arch in full]
    found += [(p, arch) for k, arch in enumerate(sparse) for p in paths[k % every :: every]]
    return sorted(found, key=lambda x: (zlib.crc32(x[0].name.encode()), x[0], x[1]))


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.judge.every_target")
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default=",".join(FULL))
    parser.add_argument("--sparse", default=",".join(SPARSE))
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--largest", type=int, default=1 << 30)
    parser.add_argument("--disassembled", type=int, default=1)
    parser.add_argument("--until", default="")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    o = parser.parse_args(arguments)
    rows = [json.loads(x) for x in o.results.read_text().splitlines()] if o.results.exists() else []
    if not o.table:
        done = {(r["file"], r["arch"]) for r in rows}
        todo = pairs(o.folder, o.arch.split(","), [a for a in o.sparse.split(",") if a], o.every, o.largest)
        end = moment(o.until)
        bar = Bar(o.quiet)
        with o.results.open("a") as out, TemporaryDirectory() as work:
            for k, (path, arch) in enumerate(todo):
                if time.time() > end:
                    break
                bar(k, len(todo), f"{arch} {path.name}")
                name = str(path.relative_to(o.folder))
                if (name, arch) not in done:
                    disassemble = zlib.crc32(f"{name} {arch}".encode()) % o.disassembled == 0
                    rows.append({**outcome(path, arch, Path(work), disassemble), "file": name})
                    out.write(json.dumps(rows[-1]) + "\n")
                    out.flush()
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
