"""Campaigns of programs that generators of others make: C by a front end to PTX, our cubin in the simulator, against gcc on the host.

usage: python -m tools.strangers csmith|threads|yarpgen|torture|zig [--seed N] [--count N] [--seconds S] [--steps N] [--front clang|nvcc] [--log FILE] [--out DIR]

csmith: programs of Csmith, one thread.  threads: the same with a state for each of 48 threads, which take their own ways and exchange
results.  yarpgen: loops over arrays (--yarpgen names the program).  torture: GCC's programs that check themselves (--torture or
$ORIAS_TORTURE names their folder, gcc/testsuite/gcc.c-torture/execute of GCC's sources).  zig: programs of Zig's standard library
(--zig is its command, "python -m ziglang" of PyPI's package).  Seeds rise from --seed on; targets, levels of
both compilers and options of the generators rotate.  Every fourth program runs with results that appear only when control words promise
them.  Programs that are wrong are kept in --out.  Exit code 1 if one of ours is wrong or refused.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.nvtools import find
from tools.strangers import csmith_programs, torture_programs, yarpgen_programs, zig_programs
from tools.strangers.choices import ARCHES, FRONT_ARCH, FRONT_LEVELS, LEVELS, NO_HOST, NO_PROGRAM, NO_PTX, UNDEFINED
from tools.strangers.compilers import clang, is_undefined, on_host, to_ptx
from tools.strangers.judge_program import BOTH, LONG, OURS, REFUSED, STEPS, THEIRS, Result, judge

OTHER_LEVELS: Final = ("0", "2")
"""Those of gcc that must agree before a result is called wrong."""


def one(
    kind: str, seed: int, front: str, folder: Path, yarpgen: str, ptxas: str | None, steps: int = STEPS
) -> tuple[Result, str, str]:
    """The verdict on one seed, the PTX, and the name of the turn."""
    arch, level = ARCHES[seed % len(ARCHES)], LEVELS[seed // len(ARCHES) % len(LEVELS)]
    front_level = FRONT_LEVELS[seed // 3 % len(FRONT_LEVELS)]
    name = f"{kind} seed {seed} {arch} -O{level} {front} -O{front_level}"
    if kind == "yarpgen":
        source, threads, more = yarpgen_programs.generate(yarpgen, seed, folder), 1, []
    else:
        text = csmith_programs.generate(seed, kind == "threads", front == "nvcc")
        if text is not None:
            text = (
                csmith_programs.threaded(text) if kind == "threads" else csmith_programs.single(text, front == "nvcc")
            )
        source = None
        if text is not None:
            source = folder / ("program.cc" if front == "nvcc" else "program.c")
            source.write_text(text, encoding="utf-8")
        threads, more = csmith_programs.THREADS if kind == "threads" else 1, []
    if source is None:
        return Result(NO_PROGRAM), "", name
    want = on_host(source, more)
    if want is None:
        return Result(NO_HOST), "", name
    ptx = to_ptx(source, FRONT_ARCH.get(arch, arch), front_level, front, more)
    if ptx is None:
        return Result(NO_PTX), "", name
    result = judge(ptx, arch, level, threads, want, ptxas, seed % 8 == 0, "stop" if seed % 4 == 0 else "", steps)
    if result.kind in (OURS, THEIRS, BOTH) and any(on_host(source, more, other) != want for other in OTHER_LEVELS):
        result = Result(NO_HOST)
    elif result.kind in (OURS, THEIRS, BOTH) and is_undefined(source, more):
        result = Result(UNDEFINED)
    elif result.kind == BOTH and front == "clang" and on_host(source, more, front_level, clang() or "") != want:
        # The front end that made the PTX gives the program another meaning than gcc on the host too.
        result = Result(NO_HOST)
    return result, ptx, name


def main() -> int:
    """The command line."""
    p = argparse.ArgumentParser(
        prog="python -m tools.strangers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("kind", choices=("csmith", "threads", "yarpgen", "torture", "zig"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=0)
    p.add_argument("--seconds", type=float, default=60.0)
    p.add_argument("--steps", type=int, default=STEPS)
    p.add_argument("--front", choices=("clang", "nvcc"), default="clang")
    p.add_argument("--yarpgen", default="yarpgen")
    p.add_argument("--zig", default="zig")
    p.add_argument("--torture", type=Path, default=os.environ.get("ORIAS_TORTURE"))
    p.add_argument("--log", type=Path)
    p.add_argument("--out", type=Path)
    a = p.parse_args()
    if a.kind == "torture" and (a.torture is None or a.front != "clang"):
        p.error("torture needs --torture FOLDER and clang")
    counts: Counter[str] = Counter()
    start, n, ptxas = time.monotonic(), 0, find("ptxas")
    while (not a.count or n < a.count) and (not a.seconds or time.monotonic() - start < a.seconds):
        with tempfile.TemporaryDirectory() as folder:
            if a.kind == "torture":
                result, ptx, name = torture_programs.one(a.torture, a.seed + n, Path(folder), ptxas, a.steps)
            elif a.kind == "zig":
                result, ptx, name = zig_programs.one(a.zig, a.seed + n, Path(folder), ptxas, a.steps)
            else:
                result, ptx, name = one(a.kind, a.seed + n, a.front, Path(folder), a.yarpgen, ptxas, a.steps)
        n += 1
        counts[result.kind] += 1
        if result.detail:
            print(f"{name}: {result.kind}: {result.detail}", flush=True)
            if a.out is not None:
                a.out.mkdir(parents=True, exist_ok=True)
                (a.out / (name.replace(" ", "_") + ".ptx")).write_text(ptx, encoding="utf-8")
        if a.log is not None:
            with a.log.open("a", encoding="utf-8") as f:
                f.write(f"{name}: {result.kind} {result.detail}\n")
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{a.kind}: {n} programs from seed {a.seed} on, {used:.0f} s: " + ", ".join(f"{v} {k}" for k, v in counts.most_common()))  # fmt: skip
    return 1 if counts[OURS] or counts[BOTH] or counts[REFUSED] else 0


__all__ = ["LONG", "main", "one"]

if __name__ == "__main__":
    sys.exit(main())
