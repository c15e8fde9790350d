"""Executed instructions against ptxas, and the operations that make the difference.

``python -m bench.executed [--match TEXT] [--all] [ARCH ...]`` compiles the kernels of ``tests/kernels`` at -O3 with both compilers, and
the semantic cases if ``ORIAS_SPIRV_RUN`` names their folder, and runs both cubins in the simulator on the same inputs, with the checks
of the tests.  For each kernel: instructions that the warps of a block execute, ours over ptxas's, and the operations that one of the
two executes more often, in percent of ptxas's instructions.  The last lines of a target have the geometric mean and the same percents
over all kernels.  ``--all`` prints every operation of a kernel.
"""

import argparse
import math
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import orias
from bench.time import programs, ptxas
from orias import sim
from orias.perf.kernel_steps import kernels
from orias.perf.trace import Run, record
from orias.sim.core.image import Image
from orias.timing.play import step_of
from tests.semantic import test_spirv_run as semantic

TARGETS = ("sm_100a", "sm_110a", "sm_120a")
Program = tuple[str, Callable[[bytes], None]]


def executed(cubin: bytes, run: Callable[[bytes], None]) -> Counter[str]:
    """Operation -> how often the warps of a block of the first launch execute it; `run` launches the cubin and checks its results."""
    runs: list[Run] = []
    launch: Any = Image.launch

    def recording(
        self: Image, name: str, grid: Any, block: Any, args: Any = (), shared: int = 0, **options: Any
    ) -> Any:
        steps = options.pop("max_steps", 1 << 40)
        Image.launch = launch  # type: ignore[method-assign]
        try:
            if runs:
                return launch(self, name, grid, block, args, shared, steps, **options)
            code = next(k for k in kernels(cubin) if k.name == name)
            sizes = tuple(int(x) for x in np.atleast_1d(block))
            grids = tuple(int(x) for x in np.atleast_1d(grid))
            result: list[Any] = []

            def through(*a: Any, **k: Any) -> Any:
                Image.launch = launch  # type: ignore[method-assign]
                result.append(launch(*a, **k, **options))
                return result[0]

            Image.launch = through  # type: ignore[method-assign, assignment]
            runs.append(record(self, code, grids, sizes, args, shared, steps))
            return result[0]
        finally:
            Image.launch = recording  # type: ignore[method-assign, assignment]

    Image.launch = recording  # type: ignore[method-assign, assignment]
    try:
        run(cubin)
    finally:
        Image.launch = launch  # type: ignore[method-assign]
    one = runs[0]
    visits = Counter(step_of(v) for block in one.blocks for warp in block for v in warp)
    out: Counter[str] = Counter()
    for step, n in visits.items():
        out[one.code.nodes[step].d.op.name] += n / len(one.blocks)  # type: ignore[assignment]
    return out


def semantic_programs() -> dict[str, Program]:
    """The cases of ``tests/semantic``, if their folder is named."""
    out: dict[str, Program] = {}
    for case in semantic.cases():
        path = semantic.FOLDER / Path(case["file"]).name
        if path.is_file():

            def run(cubin: bytes, case: dict[str, Any] = case) -> None:
                assert semantic.agree(case, semantic.launch(case, sim.load(cubin))), "wrong result"

            out[f"semantic/{case['name']}"] = path.read_text(), run
    return out


def listed(difference: dict[str, float], most: int) -> str:
    """The operations with the largest differences."""
    found = sorted(difference.items(), key=lambda x: -abs(x[1]))[:most]
    return ", ".join(f"{name} {100 * x:+.1f}" for name, x in found if abs(x) > 0.0005)


def main() -> int:
    """The command."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("arch", nargs="*", default=list(TARGETS))
    p.add_argument("--match", default="", help="kernels whose names contain this text")
    p.add_argument("--all", action="store_true", help="every operation of a kernel")
    o = p.parse_args()
    os.environ.setdefault("ORIAS_SEED", "1")
    for arch in o.arch:
        print(f"{arch}: executed instructions, ours / ptxas")
        ratios: dict[str, list[float]] = {"kernels": [], "semantic cases": []}
        total: Counter[str] = Counter()
        for name, (text, run) in {**programs(arch), **semantic_programs()}.items():
            if o.match not in name:
                continue
            try:
                ours = executed(orias.compile(text, arch=arch, opt_level=3).data, run)
                theirs = executed(ptxas(text, arch), run)
            except (orias.CompileError, RuntimeError, AssertionError, StopIteration) as e:
                print(f"{name:<28} left out: {str(e).strip().splitlines()[0] if str(e) else type(e).__name__}")
                continue
            a, b = sum(ours.values()), sum(theirs.values())
            difference = {k: (ours[k] - theirs[k]) / b for k in {*ours, *theirs}}
            ratios["semantic cases" if name.startswith("semantic/") else "kernels"].append(a / b)
            if not name.startswith("semantic/"):
                for k, x in difference.items():
                    total[k] += x  # type: ignore[assignment]
            print(f"{name:<28}{a / b:>7.3f} {a:>9.0f} {b:>9.0f}  {listed(difference, 200 if o.all else 8)}", flush=True)
        for what, r in ratios.items():
            if r:
                print(f"mean of {len(r)} {what}: {math.exp(sum(map(math.log, r)) / len(r)):.3f}")
        n = max(1, len(ratios["kernels"]))
        print("over all kernels:", listed({k: x / n for k, x in total.items()}, 60))
    return 0


if __name__ == "__main__":
    sys.exit(main())
