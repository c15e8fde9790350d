"""Waits for loads, register banks, occupancy and spills against ptxas over a corpus of PTX files, from the code alone.

``python -m bench.waits CORPUS [--arch ARCH ...] [--sample N] [--seed S] [--registers R]`` compiles a random sample with both
compilers at -O3 and plays every loop and the code outside loops, in the order of the code, for a warp alone with far memory
(``orias perf`` without a launch).  A loop counts ten times as much as the code around it.  A kernel's loads under way and distance
are means over its waits for loads, its bank collisions are cycles in a thousand executed instructions.  Ratios are ours over
ptxas's, means of them geometric.  Occupancy is that of blocks of the declared size, else of 128 threads.
"""

import argparse
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import orias
from bench.corpus import sample, vendor
from orias.compiler import compile_text
from orias.cubin.cubin_error import CubinError
from orias.cubin.reader import Reader
from orias.options import Options
from orias.perf.kernel_steps import KernelCode, kernel_of
from orias.perf.loops import loops
from orias.perf.resident_blocks import occupancy
from orias.perf.static_time import TRIPS, static_time
from orias.timing.machine_numbers import machine
from orias.timing.play import Player, visit
from tests.nvtools import tool

TURNS = 6
"""Iterations that are played of a loop."""
DEEPEST = 3
"""Loops inside more loops count as if inside so many."""
THREADS = 128
"""Threads of a block where the kernel does not say."""


class Measures(NamedTuple):
    """What the code of a kernel does; `waits` and `executed` are weighted counts, `spills` bytes of spill stores."""

    waits: float
    under_way: float
    distance: float
    waited: float
    executed: float
    collisions: float
    registers: int
    warps: int
    spills: int


def measures(code: KernelCode, threads: int, spills: int) -> Measures:
    """The measures of one kernel."""
    m = machine(code.profile.sm)
    found = loops(code.nodes)
    inside = {i for loop in found for i in loop.body}
    rest = [n.index for n in code.nodes if n.index not in inside]
    rest = rest[: next((k for k, i in enumerate(rest) if code.nodes[i].d.op.base == "NOP"), len(rest))]
    waits = under_way = distance = waited = executed = collisions = 0.0
    for own, weight, turns in [(rest, 1, 1), *((x.own, TRIPS ** min(x.depth, DEEPEST), TURNS) for x in found)]:
        if not own:
            continue
        turn = [
            visit(i, (k + 1 < len(own) and own[k + 1] != i + 1) or (turns > 1 and k + 1 == len(own)), 1, 4)
            for k, i in enumerate(own)
        ]
        played = Player(m, code.steps, True).play([[turn * turns]], 1)
        w = weight / turns
        waits += w * len(played.waits)
        under_way += w * sum(x.under_way for x in played.waits)
        distance += w * sum(x.distance for x in played.waits)
        waited += w * sum(x.cycles for x in played.waits)
        executed += w * played.issued
        collisions += w * played.port_bubbles
    occ = occupancy(code.profile, code.registers, threads, max(code.shared, code.profile.number("system_shared")))
    return Measures(waits, under_way, distance, waited, executed, collisions, code.registers, occ.warps, spills)


def threads_of(text: str, kernel: str) -> int:
    """Threads of a block as the directives of a kernel say."""
    head = re.search(rf"\.entry\s+{re.escape(kernel)}\b[^{{]*", text)
    found = head and re.search(r"\.(?:req|max)ntid\s+([\d ,]+)", head[0])
    return math.prod(int(x) for x in found[1].split(",")) if found else THREADS


def of_cubin(data: bytes, text: str, spills: dict[str, int]) -> dict[str, tuple[Measures, KernelCode]]:
    """Kernel -> measures."""
    reader = Reader(data)
    out = {}
    for name in reader.kernels:
        code = kernel_of(reader, name)
        if code is not None:
            out[name] = measures(code, threads_of(text, name), spills.get(name, 0)), code
    return out


class Row(NamedTuple):
    """A kernel, ours and ptxas's; `gain`: static times of ours over ptxas's, of one warp with far memory and of a full SM, where warps are lost."""

    name: str
    ours: Measures
    theirs: Measures
    gain: tuple[float, float]


def compared(path: Path, name: str, arch: str, registers: int) -> list[Row]:
    """The kernels of a file."""
    text = path.read_text(errors="replace")
    options = Options(arch)
    if registers:
        options.maxrregcount = registers
    found = vendor(tool("ptxas"), path, arch, more=[f"-maxrregcount={registers}"] if registers else [])
    if isinstance(found, str):
        raise RuntimeError(found)
    theirs = of_cubin(found[1], text, {k: x[2] for k, x in found[0].items()})
    made = compile_text([(path.name, path.read_bytes())], options)
    ours = of_cubin(made.data, text, {k: x.spill_stores for k, x in made.kernels.items()})
    out = []
    for k, (a, mine) in ours.items():
        if k in theirs:
            b, other = theirs[k]
            gain = 1.0, 1.0
            if a.warps < b.warps:
                x, y = static_time(mine, a.warps, TRIPS), static_time(other, b.warps, TRIPS)
                gain = x.one_far / y.one_far, x.full / y.full
            out.append(Row(f"{name}:{k[:60]}", a, b, gain))
    return out


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def per_wait(m: Measures, what: Callable[[Measures], float]) -> float:
    """A sum over waits as a mean."""
    return what(m) / m.waits


def show(rows: list[Row], worst: int) -> None:
    """Prints the means and the worst kernels."""
    both = [r for r in rows if r.ours.waits and r.theirs.waits]
    print(f"kernels {len(rows)}, with waits for loads in both {len(both)}, in ours only "
          f"{sum(bool(r.ours.waits and not r.theirs.waits) for r in rows)}, in ptxas's only "
          f"{sum(bool(r.theirs.waits and not r.ours.waits) for r in rows)}")  # fmt: skip
    for title, what in (
        ("loads under way at a wait", lambda m: m.under_way),
        ("distance from load to wait", lambda m: m.distance),
    ):
        ratios = sorted((per_wait(r.ours, what) / per_wait(r.theirs, what), r.name) for r in both)
        print(
            f"{title}: {mean([x for x, _ in ratios]):.3f}; below 0.9 in {sum(x < 0.9 for x, _ in ratios)}, above 1.1 in {sum(x > 1.1 for x, _ in ratios)}"
        )
        for x, name in ratios[:worst]:
            r = next(r for r in both if r.name == name)
            print(
                f"  {x:.2f}  {per_wait(r.ours, what):.1f} / {per_wait(r.theirs, what):.1f}, waits {r.ours.waits:.0f} / {r.theirs.waits:.0f}, cycles {r.ours.waited:.0f} / {r.theirs.waited:.0f}  {name}"
            )
    lost = [(r.ours.waited / r.theirs.waited, r) for r in both if r.ours.waited and r.theirs.waited]
    print(
        f"waits: {mean([r.ours.waits / r.theirs.waits for r in both]):.3f}; cycles waited: {mean([x for x, _ in lost]):.3f}"
    )
    for x, r in sorted(lost, key=lambda x: -x[0])[:worst]:
        print(f"  {x:.2f}  {r.ours.waited:.0f} / {r.theirs.waited:.0f} cycles  {r.name}")
    sums = [
        sum(r.ours.collisions * 1000 / r.ours.executed for r in rows),
        sum(r.theirs.collisions * 1000 / r.theirs.executed for r in rows),
    ]
    more = sorted(rows, key=lambda r: r.theirs.collisions / r.theirs.executed - r.ours.collisions / r.ours.executed)
    print(f"bank collisions in a thousand executed, mean over kernels: {sums[0] / len(rows):.2f} / {sums[1] / len(rows):.2f}; "
          f"more in {sum(r.ours.collisions / r.ours.executed > r.theirs.collisions / r.theirs.executed for r in rows)} kernels, "
          f"fewer in {sum(r.ours.collisions / r.ours.executed < r.theirs.collisions / r.theirs.executed for r in rows)}")  # fmt: skip
    for r in more[:worst]:
        print(
            f"  {1000 * r.ours.collisions / r.ours.executed:.1f} / {1000 * r.theirs.collisions / r.theirs.executed:.1f}  {r.name}"
        )
    down = [r for r in rows if r.ours.warps < r.theirs.warps]
    print(f"registers {mean([r.ours.registers / r.theirs.registers for r in rows]):.3f}; warps of an SM fewer in {len(down)}, "
          f"more in {sum(r.ours.warps > r.theirs.warps for r in rows)}")  # fmt: skip
    for r in down:
        print(
            f"  {r.ours.warps} / {r.theirs.warps} warps, {r.ours.registers} / {r.theirs.registers} registers, time of one warp {r.gain[0]:.2f}, of a full SM {r.gain[1]:.2f}  {r.name}"
        )
    above = [r for r in rows if r.ours.spills > r.theirs.spills]
    print(
        f"bytes of spill stores: {sum(r.ours.spills for r in rows)} / {sum(r.theirs.spills for r in rows)}, more in {len(above)} kernels"
    )
    for r in above:
        print(f"  {r.ours.spills} / {r.theirs.spills}  {r.name}")


def main() -> int:
    """The command."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("corpus", type=Path)
    p.add_argument("--arch", nargs="+", default=["sm_90"])
    p.add_argument("--sample", type=int, default=200, help="files, the same number from every folder")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--largest", type=int, default=120_000, help="bytes of a file of the sample")
    p.add_argument("--registers", type=int, default=0, help="limit of registers for both compilers")
    p.add_argument("--worst", type=int, default=10, help="kernels that are listed")
    o = p.parse_args()
    for arch in o.arch:
        print(f"== {arch}, seed {o.seed}" + (f", at most {o.registers} registers" if o.registers else ""))
        rows: list[Row] = []
        files = sample(sorted(o.corpus.rglob("*.ptx")), o.corpus, arch, o.sample, o.seed, o.largest)
        left_out = 0
        for f in files:
            try:
                rows += compared(f, str(f.relative_to(o.corpus)), arch, o.registers)
            except (orias.CompileError, RuntimeError, CubinError, subprocess.TimeoutExpired) as e:
                left_out += 1
                print(f"left out: {f.name}: {(str(e).strip() or type(e).__name__).splitlines()[0][:100]}")
        print(f"files {len(files)}, left out {left_out}")
        show(rows, o.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
