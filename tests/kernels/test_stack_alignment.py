"""The stack pointer at calls whose arguments on the stack, or results in memory, need more than its alignment."""

import re

import pytest

import orias

SOURCE = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) g(.param .b32 a, .param .align {align} .b8 b[48], .param .align {align} .b8 c[48]);
.extern .func (.param .align {align} .b8 r[96]) h(.param .b32 a);
.visible .func (.param .b32 r) arguments(.param .b32 a)
{{
 .reg .b32 %r<3>; .param .b32 q; .param .align {align} .b8 b[48]; .param .align {align} .b8 c[48]; .param .b32 w;
 ld.param.b32 %r1, [a]; st.param.b32 [q], %r1; st.param.b32 [b], %r1; st.param.b32 [c+44], %r1;
 call (w), g, (q, b, c);
 ld.param.b32 %r2, [w]; st.param.b32 [r], %r2; ret;
}}
.visible .func (.param .b32 r) result(.param .b32 a)
{{
 .reg .b32 %r<3>; .param .b32 q; .param .align {align} .b8 w[96];
 ld.param.b32 %r1, [a]; st.param.b32 [q], %r1;
 call (w), h, (q);
 ld.param.b32 %r2, [w+80]; st.param.b32 [r], %r2; ret;
}}
"""


@pytest.mark.parametrize("align", [4, 8, 16, 32])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_121"])
def test_callers_align(arch: str, align: int) -> None:
    cubin = orias.compile(SOURCE.format(align=align), arch=arch, compile_only=True)
    masks = re.findall(r"LOP3\.LUT R1, R1, (0x\w+), RZ", cubin.disassemble())
    # Without it R1 is a multiple of 8.
    assert masks == ([f"0x{-align & 0xFFFFFFFF:08x}"] * 2 if align > 8 else [])
