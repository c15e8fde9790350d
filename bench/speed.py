"""Speed in one run: start-up, whole-process compile time against ptxas, time per stage, parsing rate, growth.

    python bench/speed.py [CORPUS] [--arch sm_90] [--limit 40]

Ratios are of processor time of whole processes, ours and ptxas's in turn on the same file, median over the files.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.nvtools import find


def cpu_seconds(command: list[str]) -> float:
    """Processor time of one process; NaN if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code:
        return float("nan")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(command: list[str], runs: int = 5) -> float:
    return min(cpu_seconds(command) for _ in range(runs))


SMALL = Path(__file__).resolve().parent.parent / "examples" / "saxpy.ptx"


def start_up() -> None:
    """Processor time of short commands; best without PYTHONDONTWRITEBYTECODE, after a first run."""
    bare = best([sys.executable, "-c", "pass"])
    print(f"start-up: python -c pass {bare * 1000:.0f} ms")
    with tempfile.TemporaryDirectory() as work:
        ours = [sys.executable, "-m", "orias"]
        small = ["-arch=sm_80", str(SMALL), "-o", os.path.join(work, "a.cubin")]
        commands = {"orias --version": [*ours, "--version"], "orias, a small kernel": [*ours, *small]}
        ptxas = find("ptxas")
        if ptxas:
            commands["ptxas, a small kernel"] = [ptxas, *small]
        for name, command in commands.items():
            seconds = best(command, 10)
            print(f"  {name} {seconds * 1000:.0f} ms ({seconds / bare:.1f}x)")


def compile_times(files: list[Path], arch: str, ptxas: str) -> None:
    from orias.compiler import compile_text
    from orias.diag import CompileError
    from orias.options import Options

    ratios = []
    stages: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "a.cubin")
        for f in files:
            theirs = cpu_seconds([ptxas, f"-arch={arch}", str(f), "-o", out])
            ours = cpu_seconds([sys.executable, "-m", "orias", f"-arch={arch}", str(f), "-o", out])
            if theirs == theirs and ours == ours and theirs:
                ratios.append((ours / theirs, ours, theirs, f.name))
            try:
                for stage, seconds in compile_text([(f.name, f.read_bytes())], Options(arch)).times.items():
                    stages[stage] += seconds
            except CompileError:
                pass
    if ratios:
        r = sorted(ratios)
        print(
            f"compile time, whole processes, {len(r)} files: median {statistics.median(x[0] for x in r):.1f}x ptxas, worst:"
        )
        for x in r[-5:]:
            print(f"  {x[0]:.1f}x  {x[1]:.2f} s / {x[2]:.3f} s  {x[3]}")
    total = sum(stages.values()) or 1
    print("stages:", ", ".join(f"{k} {100 * v / total:.0f} %" for k, v in stages.items()))


def kernel(count: int) -> str:
    """One kernel of `count` PTX instructions: arithmetic chains, loads and stores, a branch now and then."""
    lines = [
        ".version 8.0", ".target sm_75", ".address_size 64", ".visible .entry big(.param .u64 p, .param .u32 n){",
        ".reg .b32 %r<40>; .reg .b64 %rd<4>; .reg .f32 %f<40>; .reg .pred %q<2>;",
        "ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; mov.u32 %r2,%tid.x;", "mul.wide.u32 %rd2,%r2,4; add.s64 %rd1,%rd1,%rd2;",
    ]  # fmt: skip
    lines += [f"mov.u32 %r{i},{i}; mov.f32 %f{i},0f3f800000;" for i in range(3, 40)]
    for i in range(count):
        a, b, c = 3 + i % 37, 3 + i * 7 % 37, 3 + i * 11 % 37
        lines.append(
            (
                f"mad.lo.s32 %r{a},%r{b},%r{c},%r2;",
                f"fma.rn.f32 %f{a},%f{b},%f{c},%f{a};",
                f"xor.b32 %r{a},%r{b},%r{c};",
                f"ld.global.f32 %f{a},[%rd1+{4 * (i % 64)}];",
                f"add.f32 %f{a},%f{b},%f{c};",
                f"st.global.u32 [%rd1+{4 * (i % 64)}],%r{a};",
                f"shl.b32 %r{a},%r{b},{i % 31};",
            )[i % 7]
        )
        if i % 500 == 499:
            lines.append(f"setp.lt.s32 %q1,%r{a},%r1; @%q1 bra L{i}; add.s32 %r{a},%r{a},1; L{i}:")
    return "\n".join([*lines, "ret; }"])


def growth(sizes: list[int], ptxas: str | None) -> None:
    """Processor time of one process for one kernel, ours and that of ptxas."""
    print("growth of one kernel (PTX instructions: seconds, microseconds an instruction; of ptxas, times ptxas):")
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "big.ptx"
        arguments = ["-arch=sm_80", str(source), "-o", os.path.join(work, "big.cubin")]
        for n in sizes:
            source.write_text(kernel(n), encoding="utf-8")
            ours = cpu_seconds([sys.executable, "-m", "orias", *arguments])
            line = f"  {n:7d}: {ours:8.2f}  {ours / n * 1e6:8.1f}"
            if ptxas:
                theirs = cpu_seconds([ptxas, *arguments])
                line += f"  {theirs:8.2f}  {ours / theirs:6.1f}x"
            print(line, flush=True)


def parsing() -> None:
    from orias.ptx.parser import parse

    text = "\n".join(line.replace("; ", ";\n") for line in kernel(100_000).splitlines())
    lines = text.count("\n")
    start = time.process_time()
    parse(text)
    seconds = time.process_time() - start
    print(f"parsing: {lines} lines in {seconds:.2f} s, {lines / seconds:,.0f} lines a second")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("corpus", type=Path, nargs="?")
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--limit", type=int, default=40)
    p.add_argument("--sizes", default="1000,3000,10000,30000,100000")
    a = p.parse_args()
    start_up()
    parsing()
    ptxas = find("ptxas")
    if a.corpus and ptxas:
        files = sorted(a.corpus.rglob("*.ptx"))
        compile_times(files[:: max(1, len(files) // a.limit)], a.arch, ptxas)
    growth([int(n) for n in a.sizes.split(",")], ptxas)
    return 0


if __name__ == "__main__":
    sys.exit(main())
