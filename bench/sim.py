"""Speed of the simulator: warp instructions per second on a matrix product, a reduction and a divergent kernel.

    python bench/sim.py [--arch sm_80] [--profile] [--cores N] [--times N]

The time is that of the launch, without compiling the kernel; the least of N times.  With --cores, the processor time of the
processes is not seen here, and wall time counts.

The matrix product is C = A B with A 1024x64 and B 64x1024, f32, one thread an element, once with plain loads and once with tiles
in shared memory; results are compared with numpy.  Kernels are compiled here with ``orias.compile``.
"""

import argparse
import cProfile
import pstats
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import orias
from orias import sim

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"

PLAIN = (
    HEAD
    + """
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .f32 %f<4>;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; shl.b32 %r0, %r0, 5; add.u32 %r0, %r0, %r1;
  mov.u32 %r2, %ctaid.y; mov.u32 %r3, %tid.y; shl.b32 %r2, %r2, 3; add.u32 %r2, %r2, %r3;
  mul.wide.u32 %d3, %r2, 256; add.u64 %d3, %d0, %d3;
  mul.wide.u32 %d4, %r0, 4; add.u64 %d4, %d1, %d4;
  mov.f32 %f0, 0f00000000; mov.u32 %r4, 0;
$L:
  ld.global.f32 %f1, [%d3]; ld.global.f32 %f2, [%d4];
  fma.rn.f32 %f0, %f1, %f2, %f0;
  add.u64 %d3, %d3, 4; add.u64 %d4, %d4, 4096;
  add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 64; @%p bra $L;
  shl.b32 %r5, %r2, 10; add.u32 %r5, %r5, %r0; mul.wide.u32 %d5, %r5, 4; add.u64 %d5, %d2, %d5;
  st.global.f32 [%d5], %f0; ret;
}
"""
)

REDUCE = (
    HEAD
    + """
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{
  .shared .align 4 .b8 s[1024];
  .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .f32 %f<4>;
  ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.u32 %r9, [n];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; shl.b32 %r3, %r1, 8; add.u32 %r3, %r3, %r0; shl.b32 %r2, %r2, 8;
  mov.f32 %f0, 0f00000000;
$L:
  setp.ge.u32 %p, %r3, %r9; @%p bra $D;
  mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d0, %d2; ld.global.f32 %f1, [%d2]; add.f32 %f0, %f0, %f1; add.u32 %r3, %r3, %r2; bra $L;
$D:
  shl.b32 %r4, %r0, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5; st.shared.f32 [%r4], %f0; bar.sync 0;
  mov.u32 %r6, 128;
$R:
  setp.ge.u32 %p, %r0, %r6; @%p bra $S;
  shl.b32 %r7, %r6, 2; add.u32 %r7, %r4, %r7; ld.shared.f32 %f1, [%r7]; ld.shared.f32 %f2, [%r4]; add.f32 %f2, %f2, %f1;
  st.shared.f32 [%r4], %f2;
$S:
  bar.sync 0; shr.u32 %r6, %r6, 1; setp.ne.u32 %p, %r6, 0; @%p bra $R;
  setp.ne.u32 %p, %r0, 0; @%p bra $E;
  ld.shared.f32 %f0, [%r4]; mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d1, %d3; st.global.f32 [%d3], %f0;
$E:
  ret;
}
"""
)

COLLATZ = (
    HEAD
    + """
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<8>;
  ld.param.u64 %d0, [out]; ld.param.u32 %r9, [n];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; shl.b32 %r1, %r1, 8; add.u32 %r0, %r0, %r1; setp.ge.u32 %p, %r0, %r9; @%p bra $E;
  add.u32 %r2, %r0, 1; mov.u32 %r3, 0;
$L:
  setp.eq.u32 %p, %r2, 1; @%p bra $D;
  add.u32 %r3, %r3, 1; and.b32 %r4, %r2, 1; setp.eq.u32 %p, %r4, 0; @%p bra $H;
  mad.lo.u32 %r2, %r2, 3, 1; bra $L;
$H:
  shr.u32 %r2, %r2, 1; bra $L;
$D:
  mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r3;
$E:
  ret;
}
"""
)


CORES = 1
"""Processes of a launch."""


def launch(image: sim.Image, *arguments: Any) -> tuple[sim.Result, float, float]:
    """The result of a launch, its wall time and its processor time in seconds."""
    t0, c0 = time.perf_counter(), time.process_time()
    result = image.launch(*arguments, cores=CORES)
    return result, time.perf_counter() - t0, time.process_time() - c0


Outcome = tuple[tuple[sim.Result, float, float], bool]


def image(name: str, text: str, arch: str) -> sim.Image:
    if name == "tiles":
        text = (Path(__file__).resolve().parent.parent / "tests/kernels/ptx/matmul.ptx").read_text()
    return sim.load(orias.compile(text, arch=arch).data)


def matrix(arch: str) -> Outcome:
    rng = np.random.default_rng(1)
    a, b = rng.random((1024, 64), "f4"), rng.random((64, 1024), "f4")
    c = np.zeros((1024, 1024), "f4")
    r = launch(image("plain", PLAIN, arch), "k", (32, 128), (32, 8), [a, b, c])
    return r, bool(np.allclose(c, a @ b, rtol=1e-5))


def tiles(arch: str) -> Outcome:
    rng = np.random.default_rng(1)
    n = 256
    a, b, c = rng.random((n, n), "f4"), rng.random((n, n), "f4"), np.zeros((n, n), "f4")
    r = launch(image("tiles", "", arch), "matmul", (n // 8, n // 8), (8, 8), [a, b, c, n])
    return r, bool(np.allclose(c, a @ b, rtol=1e-4))


def reduction(arch: str) -> Outcome:
    x = np.random.default_rng(1).random(1 << 22, "f4")
    y = np.zeros(256, "f4")
    r = launch(image("reduction", REDUCE, arch), "k", 256, 256, [x, y, len(x)])
    return r, bool(np.isclose(y.sum(), x.sum(), rtol=1e-4))


def divergent(arch: str) -> Outcome:
    n = 1 << 16
    out = np.zeros(n, "u4")
    r = launch(image("divergent", COLLATZ, arch), "k", n // 256, 256, [out, n])
    steps, x = 0, 27
    while x != 1:
        x, steps = (x // 2 if x % 2 == 0 else 3 * x + 1), steps + 1
    return r, bool(out[26] == steps)


CASES = {
    "matrix product 1024x1024x64": matrix,
    "matrix product 256x256x256, tiles": tiles,
    "reduction of 4 Mi": reduction,
    "divergent loops, 64 Ki threads": divergent,
}


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--arch", default="sm_80")
    p.add_argument("--only", default="")
    p.add_argument("--profile", action="store_true")
    p.add_argument("--cores", type=int, default=1)
    p.add_argument("--times", type=int, default=1)
    o = p.parse_args()
    global CORES
    CORES = o.cores
    for name, case in CASES.items():
        if o.only not in name:
            continue
        prof = cProfile.Profile()
        if o.profile:
            prof.enable()
        outcomes = [case(o.arch) for _ in range(o.times)]
        prof.disable()
        result = outcomes[0][0][0]
        right = all(right for _, right in outcomes)
        t, c = min(times[1] for times, _ in outcomes), min(times[2] for times, _ in outcomes)
        c = c if o.cores == 1 else t
        warps = result.instructions / 32
        print(
            f"{name:36} {t:6.2f} s ({c:.2f} s of processor)  {warps / 1e6:8.2f} million warp instructions, "
            f"{warps / c / 1e6:6.2f} million a second  {'right' if right else 'WRONG'}",
            flush=True,
        )
        if o.profile:
            pstats.Stats(prof).sort_stats("tottime").print_stats(18)
    return 0


if __name__ == "__main__":
    sys.exit(main())
