"""Chains of comparisons that become jump tables, in a loop of a kernel and in a function that it calls, by running them."""

import numpy as np
import pytest

import orias
from orias.sim.core.image import load
from tests.effort import lines_executed

CONSTANTS = [3, 1, 0, 7, 5, 9, 12, 2, -4]
THREADS = 64
TURNS = 4


def chain(value: str, result: str, label: str) -> str:
    """Comparisons of a value with CONSTANTS, with an arm for each."""
    tests = "".join(f"setp.eq.s32 %p1, {value}, {c}; @%p1 bra {label}{k};\n" for k, c in enumerate(CONSTANTS))
    arms = "".join(
        f"{label}{k}: mad.lo.u32 {result}, {value}, {k + 2}, {c + 100}; xor.b32 {result}, {result}, {value}; bra {label}E;\n"
        for k, c in enumerate(CONSTANTS)
    )
    return f"{tests}mov.u32 {result}, 1; bra {label}E;\n{arms}{label}E:\n"


def source(arch: str) -> str:
    return f""".version 8.7
.target {arch}
.address_size 64
.func (.param .b32 o) f(.param .b32 i)
{{ .reg .b32 %r<5>; .reg .pred %p<3>; ld.param.b32 %r1, [i];
{chain("%r1", "%r2", "A")} st.param.b32 [o], %r2; ret; }}
.visible .entry k(.param .u64 p, .param .u32 n)
{{ .reg .b32 %r<12>; .reg .b64 %d<4>; .reg .f64 %f<3>; .reg .pred %p<4>;
ld.param.u64 %d1, [p]; ld.param.u32 %r8, [n]; mov.u32 %r1, %tid.x; sub.s32 %r2, %r1, 6; mov.u32 %r7, 0;
L: {chain("%r2", "%r3", "B")} add.u32 %r7, %r7, %r3; add.s32 %r2, %r2, 3;
{{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), f, (a); ld.param.b32 %r4, [b]; }}
add.u32 %r7, %r7, %r4; sub.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra L;
cvt.rn.f64.u32 %f1, %r7; add.f64 %f1, %f1, 0d3FD5555555555555;
mul.wide.u32 %d2, %r1, 8; add.u64 %d1, %d1, %d2; st.global.f64 [%d1], %f1; ret; }}
"""


def arm(v: int) -> int:
    if v not in CONSTANTS:
        return 1
    k = CONSTANTS.index(v)
    return (v * (k + 2) + CONSTANTS[k] + 100 ^ v) & 0xFFFFFFFF


def expected() -> list[float]:
    third = float(np.uint64(0x3FD5555555555555).view(np.float64))
    out = []
    for thread in range(THREADS):
        values = [thread - 6 + 3 * turn for turn in range(TURNS)]
        out.append((sum(arm(v) + arm(v + 3) for v in values) & 0xFFFFFFFF) + third)
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a"])
@pytest.mark.parametrize("least", [0, 8])
def test_values(arch: str, least: int) -> None:
    """The same values with and without tables; on sm_80 a constant follows them in the bank."""
    cubin = orias.compile(source(arch), arch=arch, knobs={"SwitchMinCases": least}, self_check=True)
    assert cubin.disassemble().count(" BRX ") == (2 if least else 0)
    buffer = np.zeros(THREADS, np.float64)
    load(cubin.data).launch("k", (1,), (THREADS,), [buffer, np.uint32(TURNS)])
    assert buffer.tolist() == expected()


def comparisons(constants: list[int]) -> str:
    """A kernel that goes to one of as many blocks by comparing its argument with constants."""
    tests = [f"setp.eq.s32 %q, %n, {c}; @%q bra L{k};" for k, c in enumerate(constants)]
    arms = [f"L{k}: st.global.u32 [%p], {7 * k + 1}; bra.uni end;" for k in range(len(constants))]
    return "\n".join([
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) {",
        ".reg .pred %q; .reg .b32 %n; .reg .b64 %p; ld.param.u64 %p, [p]; ld.param.u32 %n, [n];",
        *tests, "bra.uni end;", *arms, "end: ret; }",
    ])  # fmt: skip


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("apart", "last"), [(1, "LateExpandSyncInstructions"), (1_000_003, "DoSwitchOptFirst")])
def test_effort_grows_with_the_chain(apart: int, last: str) -> None:
    """Four times the chain, which becomes a table or is too sparse for one, must not take much more than four times the work."""

    def cost(count: int) -> int:
        text = comparisons([apart * k for k in range(count)])
        return lines_executed(lambda: orias.compile(text, arch="sm_80", stop_after=last))

    cost(20)
    assert cost(1200) <= 5 * cost(300)
