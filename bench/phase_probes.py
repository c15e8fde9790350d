"""What the documented phases of ptxas are worth that Orias does not have: one small kernel for each effect.

``python -m bench.phase_probes [--arch sm_90] [NAME ...]`` compiles each kernel with both compilers at -O3, runs both cubins in the
simulator on the same data, compares the memory, and prints a line: name, the instructions that a warp executes with ours and with
ptxas, the cycles of one warp with far memory, and those of a full SM a block, ours over ptxas's.  The phases that a kernel is for stand
in ``orias/pipeline/data/documented_phases.txt``, which names the kernels; results are in docs/log/phase-probes.md.
"""

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import orias
from orias.perf.kernel_steps import kernels
from orias.perf.measure import FULL_SM, ONE_WARP, costs
from orias.perf.resident_blocks import occupancy
from orias.perf.trace import record
from orias.sim.core.image import load
from tests.nvtools import tool

N: Final = 24
"""The number that kernels get, mostly of iterations."""
BLOCK: Final = 128
GRID: Final = 8
WORDS: Final = 1 << 16

HEAD = """.version 8.0
.target {arch}
.address_size 64
{module}.visible .entry k(.param .u64 p, .param .u32 n) {{
.reg .b32 %r<200>; .reg .f32 %f<100>; .reg .b64 %d<60>; .reg .pred %p<60>;
{declarations}ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %d1, %d1;
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2;
mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2; ld.global.u32 %r10, [%d3]; ld.global.u32 %r11, [%d3+8192]; add.u64 %d4, %d3, 131072;
{body}
ret; }}
"""
"""%d1: the buffer; %d3: the thread's word of it; %d4: where it writes; %r1: N; %r2: thread; %r10, %r11: two numbers below 256."""


class Probe(NamedTuple):
    """``body``: PTX at the end of HEAD; ``declarations`` of the kernel and of the ``module``: PTX before it."""

    body: str
    declarations: str = ""
    module: str = ""


def _tail(x: str) -> str:
    return f"xor.b32 {x}, {x}, %r11; mad.lo.u32 {x}, {x}, %r11, %r10; shr.u32 %r30, {x}, 3; xor.b32 {x}, {x}, %r30; mad.lo.u32 {x}, {x}, 77, %r10; shr.u32 %r30, {x}, 5; add.u32 {x}, {x}, %r30; mad.lo.u32 {x}, {x}, %r10, 3; st.global.u32 [%d4], {x};"


def _switch(value: str, count: int) -> str:
    out = "".join(f"setp.eq.u32 %p1, {value}, {k}; @%p1 bra C{k};\n" for k in range(count))
    out += "mov.u32 %r20, 1; bra E;\n"
    for k in range(count):
        steps = "".join(f"mad.lo.u32 %r20, %r20, %r11, {k * 7 + j}; xor.b32 %r20, %r20, %r10;" for j in range(6))
        out += f"C{k}: mov.u32 %r20, {k * k + 3}; {steps} bra E;\n"
    return out + "E: st.global.u32 [%d4], %r20;"


def _loop(body: str, end: str = "st.global.u32 [%d4], %r20;", once: bool = True) -> str:
    """A loop of N iterations; `once`: not to be unrolled, so that a probe shows one effect only."""
    mark = '.pragma "nounroll"; ' if once else ""
    return f"mov.u32 %r20, 0; mov.u32 %r21, 0;\nL: {mark}{body}\nadd.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, %r1; @%p1 bra L;\n{end}"


def _held(count: int) -> str:
    out = "".join(f"ld.global.u32 %r{40 + k}, [%d3+{4 * (7 * k % count)}];\n" for k in range(count))
    out += _loop("ld.global.u32 %r22, [%d3+4096]; add.u32 %r20, %r20, %r22; bar.sync 0;", "")
    out += "".join(f"mad.lo.u32 %r20, %r20, %r{40 + k}, %r{40 + (k + 1) % count};\n" for k in range(count))
    return out + "st.global.u32 [%d4], %r20;"


PROBES: Final[dict[str, Probe]] = {
    "tails": Probe(f"and.b32 %r12, %r10, 1; setp.eq.u32 %p1, %r12, 0; @%p1 bra A; mul.lo.u32 %r20, %r10, 13; {_tail('%r20')} bra E;\nA: sub.u32 %r20, %r11, %r10; {_tail('%r20')}\nE:"),
    "switch": Probe(f"and.b32 %r12, %r10, 15;\n{_switch('%r12', 16)}"),
    "switch_uniform": Probe(f"and.b32 %r12, %r3, 15;\n{_switch('%r12', 16)}"),
    "loop_top": Probe(
        "mov.u32 %r20, 0; mov.u32 %r21, 0;\nL: setp.ge.u32 %p1, %r21, %r1; @%p1 bra E; mul.wide.u32 %d10, %r21, 4; add.u64 %d11, %d3, %d10;"
        " ld.global.u32 %r22, [%d11]; add.u32 %r20, %r20, %r22; add.u32 %r21, %r21, 1; bra L;\nE: st.global.u32 [%d4], %r20;"
    ),
    "loop_top_once": Probe(
        'mov.u32 %r20, 0; mov.u32 %r21, 0;\nL: .pragma "nounroll"; setp.ge.u32 %p1, %r21, %r1; @%p1 bra E; mul.wide.u32 %d10, %r21, 4; add.u64 %d11, %d3, %d10;'
        " ld.global.u32 %r22, [%d11]; add.u32 %r20, %r20, %r22; add.u32 %r21, %r21, 1; bra L;\nE: st.global.u32 [%d4], %r20;"
    ),
    "loop_barrier": Probe(_loop("ld.global.u32 %r22, [%d3]; add.u64 %d3, %d3, 4; mad.lo.u32 %r20, %r20, 3, %r22; bar.sync 0;", once=False)),
    "strength": Probe(_loop("mul.lo.u32 %r22, %r21, %r4; mul.wide.u32 %d10, %r22, 4; add.u64 %d11, %d3, %d10; ld.global.u32 %r23, [%d11]; add.u32 %r20, %r20, %r23;")),
    "pipelining": Probe(_loop("ld.global.u32 %r22, [%d3]; mad.lo.u32 %r20, %r20, 3, %r22; xor.b32 %r20, %r20, %r22; add.u64 %d3, %d3, 128;")),
    "barriers": Probe("st.shared.u32 [s], %r10; bar.sync 0; bar.sync 0; membar.gl; membar.gl; bar.sync 0; ld.shared.u32 %r20, [s]; xor.b32 %r20, %r20, %r20; add.u32 %r20, %r20, %r11; st.global.u32 [%d4], %r20;", ".shared .align 4 .b8 s[4096];\n"),
    "barriers_plain": Probe("bar.sync 0; bar.sync 0; bar.sync 0; st.global.u32 [%d4], %r10;"),
    "zeros": Probe(
        "cvt.rn.f32.u32 %f1, %r10; mul.f32 %f2, %f1, 0f3F800000; max.f32 %f3, %f2, %f2; abs.f32 %f4, %f3; abs.f32 %f5, %f4; neg.f32 %f6, %f5; neg.f32 %f7, %f6;"
        " setp.nan.f32 %p1, %f7, %f7; selp.f32 %f8, 0f3F800000, %f7, %p1; sub.u32 %r20, %r10, %r10; and.b32 %r21, %r11, 0; or.b32 %r20, %r20, %r21; mov.b32 %r22, %f8; add.u32 %r20, %r20, %r22; st.global.u32 [%d4], %r20;"
    ),
    "selects": Probe(
        "".join(f"setp.lt.u32 %p{k}, %r{10 + k % 2}, {20 * k + 9}; @%p{k} bra A{k}; mov.u32 %r{20 + k}, %r10; bra B{k};\nA{k}: mov.u32 %r{20 + k}, %r11;\nB{k}: " for k in range(1, 6))
        + "add.u32 %r21, %r21, %r22; add.u32 %r21, %r21, %r23; add.u32 %r21, %r21, %r24; add.u32 %r21, %r21, %r25; st.global.u32 [%d4], %r21;"
    ),
    "local_constant": Probe(
        "".join(f"add.u32 %r20, %r10, {k}; st.local.u32 [l+{4 * k}], %r20;\n" for k in range(8)) + "mov.u32 %r21, 0;\n"
        + "".join(f"ld.local.u32 %r22, [l+{4 * k}]; mad.lo.u32 %r21, %r21, 3, %r22;\n" for k in range(8)) + "st.global.u32 [%d4], %r21;",
        ".local .align 16 .b8 l[64];\n",
    ),
    "local_loop": Probe(
        "mov.u64 %d20, l;\nmov.u32 %r21, 0;\nW: mul.wide.u32 %d21, %r21, 4; add.u64 %d22, %d20, %d21; add.u32 %r22, %r10, %r21; st.local.u32 [%d22], %r22; add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 8; @%p1 bra W;\n"
        "mov.u32 %r20, 0; mov.u32 %r21, 0;\nR: mul.wide.u32 %d21, %r21, 4; add.u64 %d22, %d20, %d21; ld.local.u32 %r22, [%d22]; mad.lo.u32 %r20, %r20, 5, %r22; add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 8; @%p1 bra R; st.global.u32 [%d4], %r20;",
        ".local .align 16 .b8 l[32];\n",
    ),
    "local_unused": Probe("mov.u64 %d20, l; and.b32 %r12, %r10, 7; mul.wide.u32 %d21, %r12, 4; add.u64 %d22, %d20, %d21; st.local.u32 [%d22], %r11; st.local.u32 [m], %r10; ld.local.u32 %r20, [l+8]; and.b32 %r20, %r20, 0; add.u32 %r20, %r20, %r11; st.global.u32 [%d4], %r20;", ".local .align 16 .b8 m[256]; .local .align 16 .b8 l[32];\n"),
    "vector_global": Probe(
        "mul.wide.u32 %d10, %r5, 16; add.u64 %d11, %d1, %d10; add.u64 %d12, %d11, 131072;\n" + "".join(f"ld.global.u32 %r{20 + k}, [%d11+{4 * k}];\n" for k in range(4)) + "".join(f"add.u32 %r{20 + k}, %r{20 + k}, {k};\n" for k in range(4))
        + "".join(f"st.global.u32 [%d12+{4 * k}], %r{20 + k};\n" for k in range(4))
    ),
    "vector_shared": Probe(
        "shl.b32 %r12, %r2, 4; mov.u32 %r13, s; add.u32 %r14, %r13, %r12;\n" + "".join(f"add.u32 %r{20 + k}, %r10, {k}; st.shared.u32 [%r14+{4 * k}], %r{20 + k};\n" for k in range(4)) + "bar.sync 0; xor.b32 %r15, %r12, 16; add.u32 %r14, %r13, %r15;\n"
        + "".join(f"ld.shared.u32 %r{30 + k}, [%r14+{4 * k}];\n" for k in range(4)) + "add.u32 %r30, %r30, %r31; add.u32 %r30, %r30, %r32; add.u32 %r30, %r30, %r33; st.global.u32 [%d4], %r30;",
        ".shared .align 16 .b8 s[4096];\n",
    ),
    "nested_conditions": Probe(
        f"setp.lt.u32 %p1, %r10, 200; @!%p1 bra E; setp.gt.u32 %p2, %r11, 30; @!%p2 bra E; setp.ne.u32 %p3, %r10, %r11; @!%p3 bra E; mov.u32 %r20, %r10; {_tail('%r20')}\nE:"
    ),
    "cold_in_loop": Probe(_loop(f"ld.global.u32 %r22, [%d3]; setp.gt.u32 %p2, %r22, 253; @!%p2 bra H; {_tail('%r22').replace('[%d4]', '[%d4+32768]')} atom.global.add.u32 %r31, [%d1+262140], 0;\nH: add.u32 %r20, %r20, %r22; add.u64 %d3, %d3, 4;")),
    "uniform_atomic": Probe("red.global.add.u32 [%d1+262140], 1; red.global.add.u32 [%d1+262136], %r1; st.global.u32 [%d4], %r10;"),
    "uniform_atomic_result": Probe("atom.shared.add.u32 %r20, [s], 1; bar.sync 0; ld.shared.u32 %r21, [s]; and.b32 %r21, %r21, 0; add.u32 %r21, %r21, %r10; st.global.u32 [%d4], %r21;", ".shared .align 4 .b8 s[16];\n"),
    "equal_moves": Probe(f"and.b32 %r12, %r10, 1; setp.eq.u32 %p1, %r12, 0; mov.u32 %r20, 5; mov.u32 %r21, 5; @%p1 bra A; mov.u32 %r20, 9; mov.u32 %r21, 9; {_tail('%r40').replace('%r40, %r40', '%r40, %r10')}\nA: add.u32 %r22, %r20, %r21; add.u32 %r22, %r22, %r10; st.global.u32 [%d4+32768], %r22;"),
    "common_heads": Probe(
        f"and.b32 %r12, %r10, 1; setp.eq.u32 %p1, %r12, 0; @%p1 bra A; mul.lo.u32 %r20, %r10, %r11; xor.b32 %r20, %r20, %r11; mad.lo.u32 %r20, %r20, %r10, 9; add.u32 %r20, %r20, 1; {_tail('%r20')} bra E;\n"
        f"A: mul.lo.u32 %r20, %r10, %r11; xor.b32 %r20, %r20, %r11; mad.lo.u32 %r20, %r20, %r10, 9; mul.lo.u32 %r21, %r20, 5; {_tail('%r21').replace('[%d4]', '[%d4+32768]')}\nE:"
    ),
    "sinking": Probe(f"mul.lo.u32 %r20, %r10, %r11; mad.lo.u32 %r21, %r20, %r10, %r11; mad.lo.u32 %r22, %r21, %r20, 7; mad.lo.u32 %r23, %r22, %r21, 3; setp.gt.u32 %p1, %r10, 300; @!%p1 bra E; {_tail('%r23')}\nE: st.global.u32 [%d4+32768], %r10;"),
    "joins": Probe(
        f"setp.gt.u32 %p1, %r10, 60; @!%p1 bra E; {_tail('%r12').replace('%r12, %r12', '%r12, %r10')} setp.gt.u32 %p2, %r11, 60; @!%p2 bra E; {_tail('%r13').replace('%r13, %r13', '%r13, %r10')} setp.gt.u32 %p3, %r12, %r13; @!%p3 bra E; {_tail('%r14').replace('%r14, %r14', '%r14, %r10')}\nE: bar.sync 0; st.global.u32 [%d4+32768], %r10;"
    ),
    "pressure": Probe(_held(60)),
    "pressure_limited": Probe(_held(60), module=""),
    "invariants_late": Probe(_loop("mul.wide.u32 %d10, %r11, 12; add.u64 %d11, %d1, %d10; ld.global.u32 %r22, [%d11+64]; mul.hi.u32 %r23, %r10, 0xCCCCCCCD; shr.u32 %r23, %r23, 2; div.u32 %r24, %r22, 7; add.u32 %r24, %r24, %r23; mad.lo.u32 %r20, %r20, 3, %r24; bar.sync 0;")),
    "constants_again": Probe(_loop("ld.global.f32 %f1, [%d3]; fma.rn.f32 %f2, %f1, 0f3F9D70A4, 0f3F0F5C29; fma.rn.f32 %f3, %f2, 0f3F9D70A4, 0f3F0F5C29; ld.param.u32 %r23, [n]; mov.u32 %r24, %tid.x; mov.b32 %r25, %f3; xor.b32 %r25, %r25, %r24; mad.lo.u32 %r20, %r20, %r23, %r25; add.u64 %d3, %d3, 4; bar.sync 0;")),
    "spinning": Probe("and.b32 %r12, %r10, 3; mov.u32 %r21, 0;\nL: ld.volatile.global.u32 %r22, [%d1+262128]; add.u32 %r21, %r21, 1; setp.gt.u32 %p2, %r21, %r12; @%p2 bra E; setp.eq.u32 %p1, %r22, 0; @%p1 bra L;\nE: st.global.u32 [%d4], %r21;"),
    "macro_operations": Probe("shl.b32 %r20, %r10, 3; add.u32 %r20, %r20, %r11; and.b32 %r21, %r10, %r11; xor.b32 %r21, %r21, %r1; or.b32 %r22, %r21, %r20; mul.lo.u32 %r23, %r22, %r1; add.u32 %r23, %r23, %r10; add.u32 %r24, %r23, %r11; add.u32 %r24, %r24, %r20; st.global.u32 [%d4], %r24;"),
    "half_peepholes": Probe("cvt.u16.u32 %h1, %r10; cvt.u16.u32 %h2, %r11; mov.b32 %r20, {%h1, %h2}; mov.b32 {%h3, %h4}, %r20; mov.b32 %r21, {%h4, %h3}; prmt.b32 %r22, %r21, %r20, 0x5410; bfe.u32 %r23, %r22, 8, 8; bfi.b32 %r24, %r23, %r10, 4, 8; popc.b32 %r25, %r24; shf.l.wrap.b32 %r26, %r24, %r25, 0; add.u32 %r26, %r26, %r25; st.global.u32 [%d4], %r26;", ".reg .b16 %h<9>;\n"),
}  # fmt: skip


class Result(NamedTuple):
    """Instructions of the warp that executes most, its cycles alone with far memory, cycles of a full SM a block, registers."""

    executed: int
    one: float
    full: float
    registers: int
    memory: bytes


def text(name: str, arch: str) -> str:
    """The PTX of a probe."""
    p = PROBES[name]
    return HEAD.format(arch=arch, body=p.body, declarations=p.declarations, module=p.module)


def limit(name: str) -> int:
    """The register limit that a probe is compiled with; 0: none."""
    return 32 if name == "pressure_limited" else 0


def by_ptxas(source: str, arch: str, registers: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        ptx, out = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        ptx.write_text(source)
        more = [f"-maxrregcount={registers}"] if registers else []
        subprocess.run(
            [tool("ptxas"), f"-arch={arch}", "-O3", *more, str(ptx), "-o", str(out)], check=True, timeout=120
        )
        return out.read_bytes()


def measured(cubin: bytes) -> Result:
    """The launch of a probe."""
    code = kernels(cubin)[0]
    data = np.random.default_rng(0).integers(0, 256, WORDS, np.uint32)
    data[-8:] = 0
    run = record(load(cubin), code, (GRID,), (BLOCK,), [data, np.uint32(N)])
    occ = occupancy(code.profile, code.registers, BLOCK, max(code.shared, code.profile.number("system_shared")))
    found = {(c.what, c.far): c for c in costs(run, occ)}
    executed = max(len(w) for b in run.blocks for w in b)
    full = found[FULL_SM, True]
    return Result(executed, found[ONE_WARP, True].cycles, full.cycles / full.blocks, code.registers, data.tobytes())


DONE: Final = frozenset(
    (
        "uniform_atomic", "uniform_atomic_result", "local_constant", "local_loop", "local_unused", "invariants_late", "loop_top", "loop_top_once", "loop_barrier", "vector_shared", "switch", "switch_uniform",
    )
)  # fmt: skip
"""Probes of phases that Orias runs by now."""


def report(kind: str, arch: str, programs: dict[str, tuple[str, int]]) -> None:
    """Print ours over ptxas's for programs (name -> PTX, register limit or 0); ends the process if results differ."""
    ratios: list[tuple[float, float, float]] = []
    print(f"{kind:<22} {'executed':>13} {'one warp':>9} {'full SM':>8} {'registers':>9}  ({arch}, ours / ptxas)")
    for name, (source, registers) in programs.items():
        ours = measured(orias.compile(source, arch=arch, maxrregcount=registers).data)
        theirs = measured(by_ptxas(source, arch, registers))
        if ours.memory != theirs.memory:
            sys.exit(f"{name}: the results differ")
        r = (ours.executed / theirs.executed, ours.one / theirs.one, ours.full / theirs.full)
        ratios.append(r)
        print(
            f"{name:<22} {ours.executed:>5} / {theirs.executed:<5} {r[1]:>9.2f} {r[2]:>8.2f} {ours.registers:>4}/{theirs.registers:<4}",
            flush=True,
        )
    means = [math.exp(sum(math.log(r[k]) for r in ratios) / len(ratios)) for k in range(3)]
    print(f"{'geometric mean':<22} {means[0]:>13.3f} {means[1]:>9.3f} {means[2]:>8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("names", nargs="*", default=list(PROBES))
    given = parser.parse_args()
    report("probe", given.arch, {name: (text(name, given.arch), limit(name)) for name in given.names})


if __name__ == "__main__":
    main()
