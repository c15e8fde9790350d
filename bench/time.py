"""Time of kernels against ptxas, by execution: executed instructions and modelled cycles.

``python -m bench.time [--match TEXT] [ARCH ...]`` compiles the kernels of ``tests/kernels`` at -O3 with both compilers, runs both
cubins in the simulator on the same inputs, checks the results, and plays what the warps executed through the machine model
(``orias perf``).  Every ratio is ours over ptxas's: executed instructions; one warp alone with near and far memory; a full SM;
loads under way at a wait; registers.  The last line of a target has the geometric means.
"""

import argparse
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import orias
from orias.perf.kernel_steps import kernels
from orias.perf.measure import costs
from orias.perf.resident_blocks import occupancy
from orias.perf.trace import Run, record
from orias.sim.core.image import Image
from tests.kernels import test_kernels
from tests.kernels.matrix import cases as matrix
from tests.kernels.varied import varied_cases as varied
from tests.kernels.varied.kernels import GROUPS
from tests.nvtools import tool

TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")


class Times(NamedTuple):
    """What one cubin's run costs: per block for the full SM, cycles for one warp."""

    executed: float
    one_near: float
    one_far: float
    full_near: float
    full_far: float
    under_way: float
    registers: float


def measured(cubin: bytes, run: Callable[[bytes], None]) -> Times:
    """The times of a test's launch; `run` launches the cubin and checks its results."""
    runs: list[Run] = []
    launch: Any = Image.launch

    def recording(
        self: Image, name: str, grid: Any, block: Any, args: Any = (), shared: int = 0, **options: Any
    ) -> Any:
        code = next(k for k in kernels(cubin) if k.name == name)
        sizes = tuple(int(x) for x in np.atleast_1d(block))
        steps = options.pop("max_steps", 1 << 40)
        result: Any = None

        def through(*a: Any, **k: Any) -> Any:
            nonlocal result
            result = launch(*a, **k, **options)
            return result

        image = self
        Image.launch = through  # type: ignore[method-assign, assignment]
        try:
            runs.append(record(image, code, grid, sizes, args, shared, steps))
        finally:
            Image.launch = recording  # type: ignore[method-assign, assignment]
        return result

    Image.launch = recording  # type: ignore[method-assign, assignment]
    try:
        run(cubin)
    finally:
        Image.launch = launch  # type: ignore[method-assign]
    one = runs[0]
    occ = occupancy(one.code.profile, one.code.registers, one.threads, one.shared)
    c = {(x.what, x.far): x for x in costs(one, occ)}
    far = c["full SM", True]
    waits = far.played.waits
    return Times(
        far.played.issued / far.blocks,
        c["one warp", False].cycles,
        c["one warp", True].cycles,
        c["full SM", False].cycles / c["full SM", False].blocks,
        far.cycles / far.blocks,
        sum(w.under_way for w in waits) / max(1, len(waits)) or 1.0,
        one.code.registers,
    )


def ptxas(text: str, arch: str) -> bytes:
    with tempfile.TemporaryDirectory() as d:
        source, out = Path(d) / "k.ptx", Path(d) / "k.cubin"
        source.write_text(text)
        command = [tool("ptxas"), f"-arch={arch}", "-O3", str(source), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().split("\n")[0])
        return out.read_bytes()


def programs(arch: str) -> dict[str, tuple[str, Callable[[bytes], None]]]:
    """Name -> PTX text and how to run a cubin of it, for the kernels that a target has."""
    out: dict[str, tuple[str, Callable[[bytes], None]]] = {}
    for name in test_kernels.NAMES:
        out[name] = test_kernels.source(name), lambda cubin, name=name: test_kernels.run(name, cubin)
    for name, case in matrix.CASES.items():
        text, shared = matrix.source(name)
        if case.runs_on(arch):
            out[f"matrix/{name}"] = text, lambda cubin, case=case, shared=shared: case.make().run(cubin, shared)
    for group, cases in GROUPS.items():
        for name, make in cases.items():
            out[f"{group}/{name}"] = varied.source(name), lambda cubin, make=make: make().run(cubin)
    return out


def main() -> int:
    """The command."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("arch", nargs="*", default=list(TARGETS))
    p.add_argument("--match", default="", help="kernels whose names contain this text")
    o = p.parse_args()
    for arch in o.arch:
        print(f"{arch}: ours / ptxas")
        print(f"{'kernel':<28}" + "".join(f"{f:>11}" for f in Times._fields))
        ratios: list[list[float]] = []
        for name, (text, run) in programs(arch).items():
            if o.match not in name:
                continue
            try:
                ours = measured(orias.compile(text, arch=arch, opt_level=3).data, run)
                theirs = measured(ptxas(text, arch), run)
            except (orias.CompileError, RuntimeError, AssertionError, StopIteration) as e:
                print(f"{name:<28} left out: {str(e).strip().splitlines()[0] if str(e) else type(e).__name__}")
                continue
            row = [a / b for a, b in zip(ours, theirs, strict=True)]
            ratios.append(row)
            print(f"{name:<28}" + "".join(f"{x:>11.3f}" for x in row), flush=True)
        if ratios:
            means = [math.exp(sum(math.log(r[k]) for r in ratios) / len(ratios)) for k in range(len(Times._fields))]
            print(f"{f'mean of {len(ratios)}':<28}" + "".join(f"{x:>11.3f}" for x in means))
    return 0


if __name__ == "__main__":
    sys.exit(main())
