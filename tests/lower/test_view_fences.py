"""FENCE.VIEW.ASYNC.S before mbarrier.init: where ptxas 13.0.88 has it (counted in its code for sm_90 and sm_100a)."""

import pytest

from orias.lower.frame.program import LowerOptions
from orias.lower.module import lower_module
from orias.ptx.parser import parse
from orias.target.profile import target

HEAD = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 mb[8];
.shared .align 16 .b8 s[1024];
"""
BODY = """.visible .{kind} k(.param .u64 p) {{
.reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<5>;
ld.param.u64 %rd1,[p];
mov.u32 %r1,mb;
mov.u32 %r3,%tid.x;
{}
ret;
}}
"""
INIT = "mbarrier.init.shared.b64 [%r1],32;\n"
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p1,[%r1],0;\n@!%p1 bra W;\n"
STORE = "st.shared.u32 [s],%r3;\n"
COUNTS = {
    INIT: 0,
    INIT + INIT: 0,
    "st.global.u32 [%rd1],%r3;\n" + INIT: 0,
    "mbarrier.arrive.shared.b64 %rd2,[%r1+8];\n" + INIT: 0,
    STORE + INIT: 1,
    STORE + "bar.sync 0;\n" + INIT: 1,
    STORE + INIT + INIT: 1,
    INIT + STORE + "bar.sync 0;\n" + INIT: 1,
    STORE + INIT + STORE + INIT: 2,
    "ld.shared.u32 %r4,[s];\nst.global.u32 [%rd1],%r4;\n" + INIT: 1,
    "st.u32 [%rd1],%r3;\n" + INIT: 1,
    "atom.shared.add.u32 %r4,[s],1;\nst.global.u32 [%rd1],%r4;\n" + INIT: 1,
    f"setp.eq.u32 %p1,%r3,0;\n@!%p1 bra X;\n{STORE}X:\n{INIT}": 1,
    f"setp.eq.u32 %p1,%r3,0;\n@!%p1 bra X;\n{INIT}{STORE}X:\nbar.sync 0;\n": 0,
    f"mov.u32 %r4,s;\ncp.async.ca.shared.global [%r4],[%rd1],16;\n{INIT}": 1,
}


def fences(body: str, arch: str, kind: str = "entry") -> int:
    text = (HEAD + BODY.format(body, kind=kind)).replace("sm_90", arch)
    program = lower_module(parse(text), target(arch), LowerOptions(relocatable=kind == "func"))
    names = [i.op.name for b in program.kernels[0].entry.blocks for i in b.insts]
    for at, name in enumerate(names):
        assert name != "FENCE.VIEW.ASYNC.S" or names[at + 1] == "SYNCS.EXCH.64"
    return names.count("FENCE.VIEW.ASYNC.S")


@pytest.mark.parametrize("body", COUNTS)
def test_fences(body: str) -> None:
    for arch in ("sm_90", "sm_100a"):
        assert fences(body, arch) == COUNTS[body]
    assert fences(body, "sm_80") == 0


def test_functions_begin_with_one() -> None:
    """The caller may have accessed shared memory."""
    assert fences(INIT + INIT, "sm_90", "func") == 1
