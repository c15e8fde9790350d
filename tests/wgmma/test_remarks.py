"""What is put around wgmma operations, and what is said about it: as ptxas 13.0.88 does for the same programs."""

import re

import pytest

from orias.compiler import compile_text
from orias.options import Options
from orias.tools.disassemble import disassemble

MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},%rd2,%rd3,1,1,1,0,0;"
OTHER = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4,%f5,%f6,%f7},%rd2,%rd3,1,1,1,0,0;"
TURNED = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f0,%f2,%f3},%rd2,%rd3,1,1,1,0,0;"
FROM_R = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3},{%r4,%r5,%r6,%r7},%rd3,1,1,1,0;"
FENCE, COMMIT = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"
WAIT, WAIT1 = "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"
STORE0 = "st.global.f32 [%rd1+64],%f0;"

HEAD = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 da, .param .u64 db, .param .u32 sd) {
.reg .f32 %f<32>; .reg .b64 %rd<8>; .reg .b32 %r<16>; .reg .pred %p<4>;
ld.param.u64 %rd1,[out]; ld.param.u64 %rd2,[da]; ld.param.u64 %rd3,[db]; ld.param.u32 %r1,[sd];
mov.u32 %r2,%tid.x; mul.wide.u32 %rd4,%r2,16; add.u64 %rd1,%rd1,%rd4; setp.gt.u32 %p2,%r1,5; setp.gt.u32 %p1,%r2,5;
ld.global.v4.f32 {%f0,%f1,%f2,%f3},[%rd1]; ld.global.v4.f32 {%f4,%f5,%f6,%f7},[%rd1+64];
ld.global.v4.b32 {%r4,%r5,%r6,%r7},[%rd1+16];
"""
TAIL = """
st.global.v4.f32 [%rd1],{%f0,%f1,%f2,%f3};
st.global.v4.f32 [%rd1+8192],{%f4,%f5,%f6,%f7};
ret; }
"""
ARRIVE = "warpgroup.arrive is injected in around line {} by compiler to allow use of registers in GMMA in function 'k'"
WAITED = (
    "warpgroup.wait is injected in around line {} by compiler to allow use of registers defined by GMMA in function 'k'"
)
SERIAL = "Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
NO_REGISTERS = "insufficient register resources for the wgmma pipeline in the function 'k'"
READS = (
    "non wgmma instructions reading accumulator registers of  a wgmma between start and end of the pipeline stage in the"
    " function 'k'"
)
DIVERGENT = "program dependence on compiler-inserted WG.AR in divergent path in the function 'k'"
NOTHING = "HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0"

CASES: dict[str, tuple[list[str], str, list[str]]] = {
    # name: (body from line 10 on, operations, remarks)
    "plain": ([FENCE, MMA, COMMIT, WAIT], "A M+ W0", []),
    "no fence": ([MMA, COMMIT, WAIT], "A M+ W0", [f"(C7519) {ARRIVE.format(10)}"]),
    "no wait": ([FENCE, MMA, COMMIT], "A M+ W0", [f"(C7517) {WAITED.format(13)}"]),
    "no commit": ([FENCE, MMA, WAIT], "A M+ W0", []),
    "neither": ([FENCE, MMA], "A M+ W0", [f"(C7517) {WAITED.format(12)}"]),
    "read before wait": (
        [FENCE, MMA, COMMIT, "add.f32 %f8,%f0,%f1;", "st.global.f32 [%rd1+64],%f8;", WAIT],
        "A M+ W0 W0",
        [f"(C7517) {WAITED.format(13)}"],
    ),
    "moved before wait": (
        [FENCE, MMA, COMMIT, "mov.f32 %f8,%f0;", WAIT, "st.global.f32 [%rd1+64],%f8;"],
        "A M+ W0",
        [],
    ),
    "written between groups": (
        [FENCE, MMA, COMMIT, WAIT, "add.f32 %f0,%f0,%f5;", MMA, COMMIT, WAIT],
        "A M+ W0 A M+ W0",
        [f"(C7519) {ARRIVE.format(15)}"],
    ),
    "written after the fence": (
        [FENCE, "add.f32 %f0,%f0,%f5;", MMA, COMMIT, WAIT],
        "A A M+ W0",
        [f"(C7519) {ARRIVE.format(12)}"],
    ),
    "A written after the fence": ([FENCE, "add.u32 %r4,%r4,1;", FROM_R, COMMIT, WAIT], "A M+ W0", []),
    "second fence missing": ([FENCE, MMA, COMMIT, WAIT, MMA, COMMIT, WAIT], "A M+ W0 M+ W0", []),
    "two groups": ([FENCE, MMA, COMMIT, FENCE, OTHER, COMMIT, WAIT1, STORE0, WAIT], "A M+ A M+ W1 W0", []),
    "second group read": (
        [FENCE, MMA, COMMIT, FENCE, OTHER, COMMIT, WAIT1, "st.global.f32 [%rd1+64],%f4;", WAIT],
        "A M+ W0 A M+ W0",
        [f"(C7514) {SERIAL}{READS}"],
    ),
    "read on a path": (
        [FENCE, MMA, COMMIT, "@%p2 bra X;", STORE0, "X:", WAIT],
        "A M+ W0 W0",
        [f"(C7517) {WAITED.format(14)}"],
    ),
    "fence in another block": (
        [FENCE, "@%p2 bra X;", MMA, COMMIT, "X:", WAIT],
        "A A M+ W0",
        [f"(C7519) {ARRIVE.format(12)}"],
    ),
    "other order of registers": (
        [FENCE, MMA, TURNED, COMMIT, WAIT],
        "A M+ W0 A M+ W0",
        [f"(C7511) {SERIAL}{NO_REGISTERS}"],
    ),
    "exit on the way": ([FENCE, MMA, COMMIT, "@%p2 exit;", WAIT], "A M+ W0 W0", [f"(C7517) {WAITED.format(13)}"]),
    "divergent": (["@%p1 bra X;", FENCE, MMA, COMMIT, WAIT, "X:"], "S A M+ W0", []),
    "fence before divergent code": (
        [FENCE, "@%p1 bra X;", MMA, COMMIT, "X:", WAIT],
        "S A M+ W0",
        [f"(C7520) {SERIAL}{DIVERGENT}"],
    ),
    "empty group": ([COMMIT, WAIT], "A N W0", [f"(C7519) {ARRIVE.format(10)}"]),
}


def operations(cubin: bytes) -> str:
    """WARPSYNC as S, ARRIVE as A, DEPBAR as W and its count, operations as M (with + if they end a group) and N if they do nothing."""
    out = []
    for line in disassemble(cubin).splitlines():
        if "WARPSYNC.ALL" in line:
            out.append("S")
        elif "WARPGROUP.ARRIVE" in line:
            out.append("A")
        elif found := re.search(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d)", line):
            out.append("W" + found[1])
        elif NOTHING in line:
            out.append("N")
        elif "GMMA" in line:
            out.append("M+" if "gsb0" in line else "M")
    return " ".join(out)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", list(CASES))
def test_case(name: str) -> None:
    body, want, remarks = CASES[name]
    options = Options("sm_90a")
    options.self_check = True
    cubin = compile_text([("k.ptx", HEAD + "\n".join(body) + TAIL)], options)
    assert operations(cubin.data) == want
    assert [d.message for d in cubin.diagnostics] == remarks


@pytest.mark.parametrize("level", [0, 1])
def test_other_levels(level: int) -> None:
    """At -O0 operations run one at a time, and there too a wait for groups carries no wait mask."""
    body, want, _ = CASES["two groups"]
    cubin = compile_text([("k.ptx", HEAD + "\n".join(body) + TAIL)], Options("sm_90a", level))
    assert operations(cubin.data) == (want if level else "A M+ W0 A M+ W0")
    for line in disassemble(cubin.data, control=True).splitlines():
        if "WARPGROUP.DEPBAR" in line:
            assert "/* B------" in line
