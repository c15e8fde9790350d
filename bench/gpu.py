"""Time of kernels on a GPU, ours against ptxas's, and against the machine model.

``python -m bench.gpu make FOLDER [--match TEXT] [--arch ARCH]`` compiles the kernels of ``bench.time`` with both compilers at -O3: no GPU is needed.
``python -m bench.gpu run FOLDER OUT`` runs them on GPU 0: the results are checked, then each first launch is timed with its grid repeated
along an axis that the kernel does not read, so that all SMs are full for about a millisecond; ours and ptxas's take turns.  OUT gets one
line of JSON a kernel.
``python -m bench.gpu launches FOLDER`` launches each cubin with its own grid, for a profiler (``ncu --profile-from-start off``).
``python -m bench.gpu report FOLDER OUT`` prints ours / ptxas as measured and as modelled, and how well the model orders the cubins.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import orias
from bench.time import measured, programs, ptxas
from orias.sim.core.launch_arguments import triple
from tests.device import Device, on
from tests.gpu.driver import Driver, load_driver
from tests.gpu.image import GpuImage

WHO: Final = ("orias", "ptxas")
_AXES: Final = (("z", 2, 65535), ("y", 1, 65535), ("x", 0, 1 << 20))
_MILLISECONDS: Final = 1.0
"""Time that a repeated launch should take at least."""
_ROUNDS: Final = 7
_LATE: Final = 5.0
"""Seconds after which a launch counts as hanging: a kernel whose blocks wait for each other may, with its grid repeated."""


def path(folder: Path, name: str, who: str) -> Path:
    return folder / f"{name.replace('/', '__')}.{who}.cubin"


def make(folder: Path, arch: str, match: str) -> None:
    """Compile."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (text, _) in programs(arch).items():
        if match not in name:
            continue
        try:
            both = orias.compile(text, arch=arch, opt_level=3).data, ptxas(text, arch)
        except (orias.CompileError, RuntimeError) as e:
            print(f"{name}: left out: {str(e).splitlines()[0]}")
            continue
        for who, data in zip(WHO, both, strict=True):
            path(folder, name, who).write_bytes(data)


class Launch(NamedTuple):
    """A launch that a test made."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: Sequence[Any]
    shared: int
    cluster: tuple[int, int, int] | None


class Watched(GpuImage):
    """An image that keeps its first launch."""

    first: Launch | None = None

    def launch(self, name: str, grid: Any, block: Any, args: Any = (), shared: int = 0, cluster: Any = None, **options: Any) -> None:  # fmt: skip
        if self.first is None:
            size = triple(cluster) if cluster is not None else None
            self.first = Launch(name, triple(grid), triple(block), args, shared, size)
        super().launch(name, grid, block, args, shared, cluster, **options)


def opened(driver: Driver, folder: Path, name: str, who: str, run: Callable[[bytes], None], only: bool) -> Watched:
    """A cubin's image after the test ran it; ``only``: without the check of the results."""
    images: list[Watched] = []

    def load(cubin: bytes) -> Watched:
        images.append(Watched(driver, path(folder, name, who).read_bytes()))
        return images[-1]

    with on(Device(load, driver.tensormap)):
        try:
            run(b"")
        except AssertionError:
            if not only:
                raise
    return images[0]


class Ready(NamedTuple):
    """A launch with its arguments in device memory."""

    function: Any
    launch: Launch
    values: list[bytes]


def ready(driver: Driver, image: Watched) -> Ready:
    assert image.first is not None
    values, _ = image.values(image.first.kernel, image.first.args)
    return Ready(driver.function(image.module, image.first.kernel), image.first, values)  # type: ignore[arg-type]


def milliseconds(driver: Driver, what: Ready, axis: int, times: int) -> float:
    """Milliseconds of a launch with its grid repeated."""
    grid = list(what.launch.grid)
    grid[axis] *= times
    start = driver.event()
    driver.launch(what.function, (grid[0], grid[1], grid[2]), what.launch.block, what.values, what.launch.shared, what.launch.cluster)  # fmt: skip
    end = driver.event()
    driver.wait(end, what.launch.kernel)
    out = driver.milliseconds(start, end)
    for event in (start, end):
        driver.call("cuEventDestroy_v2", event)
    return out


def free_axis(text: str) -> tuple[int, int] | None:
    """An axis of the grid that the text does not read, and how long it may be."""
    for letter, axis, most in _AXES:
        if not any(f"%{word}.{letter}" in text for word in ("ctaid", "nctaid", "clusterid", "nclusterid")):
            return axis, most
    return None


def timed(driver: Driver, folder: Path, name: str, text: str, run: Callable[[bytes], None]) -> dict[str, Any]:
    """The times of a kernel."""
    images = [opened(driver, folder, name, who, run, False) for who in WHO]
    both = [ready(driver, image) for image in images]
    chosen = free_axis(text)
    if chosen is None:
        return {"kernel": name, "why": "reads all of its place in the grid"}
    axis, most = chosen
    grid = both[0].launch.grid
    times = max(1, 4 * driver.processors // math.prod(grid))
    while times * grid[axis] * 2 <= most and min(milliseconds(driver, b, axis, times) for b in both) < _MILLISECONDS:
        times *= 2
    rounds = [[milliseconds(driver, b, axis, times) for b in both] for _ in range(_ROUNDS)]
    return {
        "kernel": name, "blocks": math.prod(grid) * times, "threads": math.prod(both[0].launch.block),
        "processors": driver.processors,
        **{who: [r[k] for r in rounds] for k, who in enumerate(WHO)},
    }  # fmt: skip


CLOCK: Final = """.version 8.0
.target sm_90
.address_size 64
.visible .entry clock(.param .u64 out) { .reg .b64 %d<6>; .reg .pred %p; ld.param.u64 %d0, [out];
mov.u64 %d1, %globaltimer; mov.u64 %d2, %clock64; add.u64 %d5, %d2, 4000000;
L: mov.u64 %d3, %clock64; setp.lt.u64 %p, %d3, %d5; @%p bra L;
mov.u64 %d4, %globaltimer; sub.u64 %d3, %d3, %d2; sub.u64 %d4, %d4, %d1;
st.global.u64 [%d0], %d3; st.global.u64 [%d0+8], %d4; ret; }
"""


def megahertz(driver: Driver) -> float:
    """Clock of the SMs now."""
    out = np.zeros(2, np.uint64)
    GpuImage(driver, orias.compile(CLOCK, arch=driver.arch).data).launch("clock", 1, 1, [out])
    return float(out[0]) / float(out[1]) * 1000


def run_all(folder: Path, out: Path, begin: int) -> int:
    """Time the kernels from one on; the number of the next one is in OUT.at, so that another process can go on after a hang."""
    driver = load_driver()
    driver.seconds = _LATE
    at = out.with_suffix(".at")
    for k, (name, (text, run)) in enumerate(programs(driver.arch).items()):
        if k < begin or not path(folder, name, "ptxas").exists():
            continue
        at.write_text(f"{k + 1} {name}")
        try:
            row = timed(driver, folder, name, text, run)
        except AssertionError as e:
            row = {"kernel": name, "why": "wrong: " + " ".join(str(e).split())[:200]}
        with out.open("a") as f:
            f.write(json.dumps({**row, "mhz": round(megahertz(driver))}) + "\n")
    at.unlink(missing_ok=True)
    return 0


def run_apart(folder: Path, out: Path) -> int:
    """Run in a process of its own, again after each kernel that ends it."""
    begin = 0
    at = out.with_suffix(".at")
    while True:
        at.unlink(missing_ok=True)
        command = [sys.executable, "-m", "bench.gpu", "run", str(folder), str(out), "--begin", str(begin)]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
            why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            why = "late"
        if not at.exists():
            print(why)
            return 0
        number, _, name = at.read_text().partition(" ")
        begin = int(number)
        with out.open("a") as f:
            f.write(json.dumps({"kernel": name, "why": why[:300]}) + "\n")


def launches(folder: Path) -> int:
    """Launch each cubin as its test does, then its first launch again, within the range of a profiler; prints a line for each such launch."""
    driver = load_driver()
    for name, (_, run) in programs(driver.arch).items():
        if not path(folder, name, "ptxas").exists():
            continue
        for who in WHO:
            image = opened(driver, folder, name, who, run, True)
            what = ready(driver, image)
            driver.call("cuProfilerStart")
            milliseconds(driver, what, 0, 1)
            driver.call("cuProfilerStop")
            print(f"{name} {who} {math.prod(what.launch.grid)} {math.prod(what.launch.block)}", flush=True)
            image.close()
    return 0


def _mean(x: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in x) / len(x)) if x else math.nan


def report(folder: Path, out: Path, match: str) -> int:
    """Measured against modelled."""
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    arch = "sm_90a"
    all_programs = programs(arch)
    print(f"{'kernel':<28}{'measured':>10}{'near':>10}{'far':>10}{'cycles':>12}{'near':>12}{'far':>12}")
    found: list[tuple[float, float, float]] = []
    cycles: list[tuple[float, float, float]] = []
    for row in rows:
        name = row["kernel"]
        if match not in name:
            continue
        if "why" in row:
            print(f"{name:<28} left out: {row['why']}")
            continue
        run = all_programs[name][1]
        times = [measured(path(folder, name, who).read_bytes(), run) for who in WHO]
        real = [min(row[who]) * 1e3 * row["mhz"] * row["processors"] / row["blocks"] for who in WHO]
        near, far = times[0].full_near / times[1].full_near, times[0].full_far / times[1].full_far
        found.append((real[0] / real[1], near, far))
        cycles += [(real[k], times[k].full_near, times[k].full_far) for k in range(2)]
        print(f"{name:<28}{real[0] / real[1]:>10.3f}{near:>10.3f}{far:>10.3f}{real[0]:>12.0f}{times[0].full_near:>12.0f}{times[0].full_far:>12.0f}", flush=True)  # fmt: skip
    for k, what in enumerate(("measured", "near", "far")):
        print(f"{what}: ours / ptxas {_mean([f[k] for f in found]):.3f} over {len(found)} kernels")
    for k, what in ((1, "near"), (2, "far")):
        log = [[math.log(c[j]) for c in cycles] for j in (0, k)]
        off = [abs(c[k] / c[0] - 1) for c in cycles]
        print(
            f"{what}: correlation of log cycles {statistics.correlation(*log):.3f}, median error {statistics.median(off):.0%}"
        )
        ratio = [[math.log(f[j]) for f in found] for j in (0, k)]
        print(f"{what}: correlation of log ratios {statistics.correlation(*ratio):.3f}")
    return 0


def main() -> int:
    """The command."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("make", "run", "launches", "report"))
    p.add_argument("folder", type=Path)
    p.add_argument("out", type=Path, nargs="?")
    p.add_argument("--arch", default="sm_90a")
    p.add_argument("--match", default="", help="kernels whose names contain this text")
    p.add_argument("--begin", type=int, help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.what == "make":
        make(o.folder, o.arch, o.match)
        return 0
    if o.what == "launches":
        return launches(o.folder)
    if o.out is None:
        p.error("OUT is missing")
    if o.what == "report":
        return report(o.folder, o.out, o.match)
    return run_all(o.folder, o.out, o.begin) if o.begin is not None else run_apart(o.folder, o.out)


if __name__ == "__main__":
    sys.exit(main())
