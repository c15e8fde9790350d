"""Static code quality against ptxas over a corpus of PTX files, in one run.

    python bench/corpus.py CORPUS [--arch sm_90 ...] [--limit N] [--sample N --seed S] [--producer P] [--jobs 2]

Prints, for every target, instructions and registers as ratios to ``ptxas -O3`` (geometric means, worst ten, per producer), kernels
that spill where ptxas does not, operations that one of the two writes more often, and files that do not compile with their first
reason.  ``CORPUS`` is a folder of .ptx files, one sub-folder a producer.  ``--sample`` draws the same number from every folder,
among the files of at most ``--largest`` bytes that the target may be asked for.
"""

import argparse
import concurrent.futures
import math
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.corpus.test_corpus import needs_objects
from tests.nvtools import find
from tests.ptx.corpus import targets

ENTRY = re.compile(r"Compiling entry function '([^']+)'")
SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")


Result = tuple[Path, object, object, float, Counter[str]]
"""A file, kernels of ptxas or its message, ours, our seconds, and how many more of each operation our cubin has."""


def instruction_counts(data: bytes) -> dict[str, int]:
    """Kernel -> instructions of its section without the trailing branch-to-self and padding."""
    from orias.cubin.elf import ElfFile

    out = {}
    for section in ElfFile(data).sections:
        name, body = section.name, section.data
        if not name.startswith(".text."):
            continue
        words = [int.from_bytes(body[i : i + 16], "little") for i in range(0, len(body), 16)]
        while words and words[-1] & 0xFFF == 0x918:
            words.pop()
        if words and words[-1] & 0xFFF == 0x947:
            words.pop()
        out[name[6:]] = len(words)
    return out


def operations(data: bytes, arch: str) -> Counter[str]:
    """Operation -> how often all kernels of a cubin have it, padding left out."""
    from orias.cubin.elf import ElfFile
    from orias.isa.isa_table import load
    from orias.target.decoder_class import table_of_name

    table = load(table_of_name(arch))
    out: Counter[str] = Counter()
    for section in ElfFile(data).sections:
        if section.name.startswith(".text."):
            for i in range(0, len(section.data), 16):
                out[table.decode(int.from_bytes(section.data[i : i + 16], "little")).op.name] += 1
    del out["NOP"]
    return out


def vendor(
    ptxas: str, path: Path, arch: str, timeout: float = 60, more: Sequence[str] = ()
) -> tuple[dict[str, tuple[int, int, int]], bytes] | str:
    """Kernel -> (instructions, registers, spill bytes) of ptxas and its cubin, or its message."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "a.cubin"
        r = subprocess.run(
            [ptxas, "-v", f"-arch={arch}", *more, str(path), "-o", str(out)],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if r.returncode:
            return (r.stderr.strip().splitlines() or [f"exit code {r.returncode}"])[0]
        data = out.read_bytes()
        counts = instruction_counts(data)
    rows = {}
    entry, spill = "", 0
    for line in r.stderr.splitlines():
        if m := ENTRY.search(line):
            entry = m.group(1)
        elif (m := SPILL.search(line)) and entry:
            spill = int(m.group(1))
        elif (m := USED.search(line)) and entry:
            rows[entry] = (counts.get(entry, 0), int(m.group(1)), spill)
            entry = ""
    return rows, data


def ours(path: Path, arch: str) -> tuple[dict[str, tuple[int, int, int]] | str, float, bytes]:
    """The same of our compiler, seconds, and the cubin."""
    from orias.compiler import compile_text
    from orias.diag import CompileError
    from orias.options import Options

    start = time.perf_counter()
    try:
        cubin = compile_text([(path.name, path.read_bytes())], Options(arch))
    except CompileError as e:
        return (
            "; ".join(f"line {d.line}: {d.message}" for d in e.diagnostics if d.severity in ("error", "fatal"))[:200],
            0,
            b"",
        )
    except RecursionError:
        return "crash: RecursionError", 0, b""
    except Exception as e:
        return f"crash: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:200], 0, b""
    seconds = time.perf_counter() - start
    return {k: (i.instructions, i.registers, i.spill_stores) for k, i in cubin.kernels.items()}, seconds, cubin.data


def job(args: tuple[str, Path, str]) -> Result:
    ptxas, path, arch = args
    try:
        theirs = vendor(ptxas, path, arch)
    except subprocess.TimeoutExpired:
        theirs = "ptxas timed out"
    if isinstance(theirs, str):
        return path, theirs, "", 0.0, Counter()
    mine, seconds, data = ours(path, arch)
    more: Counter[str] = Counter()
    if data:
        more.update(operations(data, arch))
        more.subtract(operations(theirs[1], arch))
    return path, theirs[0], mine, seconds, more


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("corpus", type=Path)
    p.add_argument("--arch", nargs="+", default=["sm_90"])
    p.add_argument("--limit", type=int, default=0)
    p.add_argument("--sample", type=int, default=0, help="files, the same number from every folder")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--largest", type=int, default=120_000, help="bytes of a file of the sample")
    p.add_argument("--producer", default="")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--failures", action="store_true", help="list every file that does not compile")
    a = p.parse_args()
    ptxas = find("ptxas")
    if ptxas is None:
        print("ptxas is not installed (pip install '.[test]')", file=sys.stderr)
        return 1
    every = [f for f in sorted(a.corpus.rglob("*.ptx")) if a.producer in str(f)]
    with concurrent.futures.ProcessPoolExecutor(a.jobs) as pool:
        for arch in a.arch:
            files = every
            if a.limit:
                files = files[:: max(1, len(files) // a.limit)]
            if a.sample:
                files = sample(files, a.corpus, arch, a.sample, a.seed, a.largest)
            print(f"== {arch}" + (f", seed {a.seed}" if a.sample else ""))
            report(list(pool.map(job, [(ptxas, f, arch) for f in files])), a.corpus, a.failures)
    return 0


def sample(files: list[Path], root: Path, arch: str, count: int, seed: int, largest: int) -> list[Path]:
    """Files that a target may be asked for, the same number from every folder as far as it has as many."""
    folders: dict[str, list[Path]] = defaultdict(list)
    for f in files:
        if f.stat().st_size <= largest:
            text = f.read_text(errors="replace")
            if targets(text, [arch]) and not needs_objects(text):
                folders[f.relative_to(root).parts[0]].append(f)
    rng = random.Random(seed)
    for members in folders.values():
        rng.shuffle(members)
    out: list[Path] = []
    for k in range(max(map(len, folders.values()), default=0)):
        out += [members[k] for members in folders.values() if k < len(members)]
    return out[:count]


def report(results: list[Result], root: Path, every: bool) -> None:
    rows: list[tuple[str, str, float, float, tuple[int, int, int], tuple[int, int, int]]] = []
    reasons: Counter[str] = Counter()
    failed: list[tuple[Path, str]] = []
    skipped = 0
    more: Counter[str] = Counter()
    for path, theirs, mine, _, extra in results:
        more.update(extra)
        if isinstance(theirs, str):
            skipped += 1
            continue
        if isinstance(mine, str):
            failed.append((path, mine))
            reasons[re.sub(r"line \d+: ", "", mine)[:90]] += 1
            continue
        assert isinstance(theirs, dict) and isinstance(mine, dict)
        for k, t in theirs.items():
            if k in mine and t[0]:
                producer = path.relative_to(root).parts[0]
                rows.append(
                    (producer, f"{path.name}:{k[:50]}", mine[k][0] / t[0], mine[k][1] / max(t[1], 1), mine[k], t)
                )
    print(
        f"files: {len(results)}, not for this target: {skipped}, compiled: {len(results) - skipped - len(failed)}, failed: {len(failed)}"
    )
    for reason, n in reasons.most_common(40):
        print(f"  {n:4d}  {reason}")
    if every:
        for path, why in failed:
            print("  ", path.relative_to(root), "|", why)
    if not rows:
        return
    print(
        f"kernels: {len(rows)}; instructions {mean([r[2] for r in rows]):.3f}x, registers {mean([r[3] for r in rows]):.3f}x (geometric means)"
    )
    spilled = [r for r in rows if r[4][2] and not r[5][2]]
    print(f"spills where ptxas has none: {len(spilled)} ({100 * len(spilled) / len(rows):.1f} %)")
    by: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for r in rows:
        by[r[0]].append((r[2], r[3]))
    for producer, v in sorted(by.items()):
        print(
            f"  {producer:20s} {len(v):5d} kernels  instructions {mean([x[0] for x in v]):.3f}  registers {mean([x[1] for x in v]):.3f}"
        )
    print("operations we write more often: " + ", ".join(f"{o} {n}" for o, n in more.most_common(24) if n > 0))
    print(
        "operations ptxas writes more often: " + ", ".join(f"{o} {-n}" for o, n in more.most_common()[:-25:-1] if n < 0)
    )
    print("worst instructions:")
    for r in sorted(rows, key=lambda r: -r[2])[:10]:
        print(f"  {r[2]:.2f}  {r[4][0]} / {r[5][0]}  {r[1]}")
    print("fewest instructions:")
    for r in sorted(rows, key=lambda r: r[2])[:10]:
        print(f"  {r[2]:.2f}  {r[4][0]} / {r[5][0]}  {r[1]}")
    print("worst registers:")
    for r in sorted(rows, key=lambda r: -r[3])[:10]:
        print(f"  {r[3]:.2f}  {r[4][1]} / {r[5][1]}  {r[1]}")
    seconds = [r[3] for r in results if r[3]]
    print(
        f"our compile time in process: total {sum(seconds):.1f} s, median {sorted(seconds)[len(seconds) // 2] * 1000:.1f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
