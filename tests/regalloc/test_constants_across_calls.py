"""Constants in uniform registers stay there through helpers that change no uniform register."""

import re

import pytest

import orias
from orias.tools.disassemble import disassemble

# The quotient's helper is called first; the loop reads four parameters in every iteration.
PTX = """.version 8.7
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 a, .param .u64 b, .param .u32 x, .param .u32 y, .param .u32 z) {{
.reg .b64 %d<8>; .reg .b32 %r<12>; .reg .pred %q;
ld.param.u64 %d0, [p]; ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b];
ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y]; ld.param.u32 %r3, [z];
mov.u32 %r0, %tid.x; mad.wide.u32 %d4, %r0, 4, %d0; ld.global.u64 %d5, [%d4+1024];
div.u64 %d3, %d5, %d1;
L: ld.global.u32 %r4, [%d4]; xor.b32 %r5, %r4, %r1; add.u32 %r5, %r5, %r2; and.b32 %r5, %r5, %r3; st.global.u32 [%d4], %r5;
add.u64 %d4, %d4, 4096; sub.u64 %d3, %d3, 1; setp.ne.u64 %q, %d3, 0; @%q bra L;
ret;
}}
"""


@pytest.mark.parametrize("arch", ["sm_90", "sm_100a", "sm_120a"])
def test_the_loop_reads_no_constant_again(arch: str) -> None:
    cubin = orias.compile(PTX.format(arch=arch), arch=arch, opt_level=3, self_check=True).data
    text = disassemble(cubin)
    assert "CALL.REL.NOINC" in text
    after = text[text.index("CALL.REL.NOINC") :]
    loop = after[after.index("LDG") : after.rindex("STG")]
    assert not re.findall(r"U?LDCU?\S* U?R\d+, c\[0x0\]", loop)
