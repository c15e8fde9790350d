"""Waits with a time in loops that yield, and accesses of local memory with a uniform register, have capsules."""

import pytest

import orias
from orias.isa.operand import K_UR, in_file, is_zero_reg
from tests.schedule.decoded import code_of

_TEXT = """.version 8.7
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {{
.shared .align 8 .b64 bar;
.reg .b64 %p; .reg .b32 %r<4>; .reg .pred %q<3>;
ld.param.u64 %p, [p]; ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, bar;
setp.ge.u32 %q1, %r2, %r1;
@%q1 bra out;
wait:
mbarrier.try_wait.parity.shared.b64 %q2, [%r3], %r1, 1000;
@!%q2 bra wait;
out:
st.global.u32 [%p], %r2;
ret; }}
"""


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_a_wait_with_a_time_yields_after_its_second_test(arch: str) -> None:
    result = orias.compile(_TEXT.format(arch=arch), arch=arch, capsules="require")
    names = [d.op.name for d in code_of(result.data)]
    first = names.index("SYNCS.PHASECHK.TRANS64.TRYWAIT")
    assert names[first + 1 : first + 4] == ["NANOSLEEP.SYNCS", "SYNCS.PHASECHK.TRANS64", "YIELD"]


_LOCAL = """.version 8.7
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n, .param .u16 m) {{
.local .align 8 .b8 a[512];
.reg .b64 %d<9>; .reg .b32 %r<9>; .reg .b16 %h<4>; .reg .pred %q<3>;
ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.param.u16 %h1, [m];
mov.u32 %r2, %tid.x; cvt.u64.u32 %d4, %r2; mov.u64 %d2, a; add.u64 %d2, %d2, %d4; mov.u32 %r4, 0;
min.u16 %h1, %h1, 5; cvt.u32.u16 %r3, %h1;
next:
cvt.u64.u32 %d3, %r4; add.u64 %d5, %d2, %d3;
ld.global.u8 %h2, [%d1];
st.local.u8 [%d5], %h2;
add.u32 %r4, %r4, 1;
setp.lt.u32 %q1, %r4, %r3;
@%q1 bra next;
ld.local.u8 %h3, [%d2]; st.global.u8 [%d1], %h3;
ret; }}
"""


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_local_memory_at_a_register_and_a_uniform_register(arch: str) -> None:
    """And, on the uniform datapath, the smaller one of two halves."""
    result = orias.compile(_LOCAL.format(arch=arch), arch=arch, capsules="require")
    assert any(
        in_file(s, K_UR) and not is_zero_reg(s) for d in code_of(result.data) if d.op.base == "STL" for s in d.src
    )
