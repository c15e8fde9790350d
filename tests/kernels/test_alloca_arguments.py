"""alloca in functions that have arguments on the stack and pass such arguments on, by running them."""

import numpy as np
import pytest

import orias
from orias.sim.core.image import load

SOURCE = """.version 8.0
.target sm_75
.address_size 64
.func (.param .b32 r) sum(.param .align 8 .b8 a[80], .param .align 8 .b8 b[64], .param .u32 n)
{{
 .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<4>;
 ld.param.u32 %r1, [n];
 ld.param.u32 %r2, [a+0];
 ld.param.u32 %r3, [a+76];
 ld.param.u32 %r4, [b+60];
 shl.b32 %r5, %r1, 2;
 add.u32 %r5, %r5, 4;
 alloca.u32 %r6, %r5, 16;
 mov.u32 %r7, 0;
L: mad.lo.u32 %r8, %r7, 4, %r6;
 mad.lo.u32 %r9, %r7, %r2, %r4;
 st.local.u32 [%r8], %r9;
 add.u32 %r7, %r7, 1;
 setp.le.u32 %p1, %r7, %r1;
 @%p1 bra L;
 shl.b32 %r10, %r1, 1;
 mad.lo.u32 %r11, %r1, 4, %r6;
 ld.local.u32 %r12, [%r11];
 ld.local.u32 %r13, [%r6];
 add.u32 %r12, %r12, %r13;
 add.u32 %r12, %r12, %r3;
 st.param.b32 [r], %r12;
 ret;
}}
.func (.param .b32 r) mid(.param .align 8 .b8 a[80], .param .align 8 .b8 b[64], .param .u32 n)
{{
 .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .pred %p<4>;
 ld.param.u32 %r1, [n];
 ld.param.u32 %r2, [a+8];
 ld.param.u32 %r3, [a+72];
 ld.param.u32 %r4, [b+56];
 shl.b32 %r5, %r1, 3;
 add.u32 %r5, %r5, 12;
 {local}
 alloca.u32 %r6, %r5, 32;
 st.local.u32 [%r6], %r3;
 st.local.u32 [%r6+8], %r4;
 {{
 .param .align 8 .b8 x[80]; .param .align 8 .b8 y[64]; .param .u32 z; .param .b32 q;
 st.param.u32 [x+0], %r2; st.param.u32 [x+76], %r3; st.param.u32 [y+60], %r4; st.param.u32 [z], %r1;
 call (q), sum, (x, y, z);
 ld.param.u32 %r7, [q];
 }}
 alloca.u32 %r16, 24, 8;
 st.local.u32 [%r16+20], %r7;
 ld.local.u32 %r8, [%r6];
 ld.local.u32 %r9, [%r6+8];
 ld.local.u32 %r10, [%r16+20];
 and.b32 %r11, %r6, 31;
 add.u32 %r8, %r8, %r9; add.u32 %r8, %r8, %r10; add.u32 %r8, %r8, %r11;
 ld.param.u32 %r12, [b+4];
 {use}
 add.u32 %r8, %r8, %r12;
 st.param.b32 [r], %r8;
 ret;
}}
.visible .entry k(.param .u64 out)
{{
 .reg .b32 %r<40>; .reg .b64 %d<4>;
 ld.param.u64 %d1, [out];
 mov.u32 %r1, %tid.x;
 add.u32 %r2, %r1, 3; mul.lo.u32 %r3, %r1, 7; add.u32 %r4, %r1, 100; xor.b32 %r5, %r1, 85;
 {{
 .param .align 8 .b8 x[80]; .param .align 8 .b8 y[64]; .param .u32 z; .param .b32 q;
 st.param.u32 [x+8], %r2; st.param.u32 [x+72], %r3; st.param.u32 [y+56], %r4; st.param.u32 [y+4], %r5; st.param.u32 [z], %r1;
 call (q), mid, (x, y, z);
 ld.param.u32 %r7, [q];
 }}
 mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
 st.global.u32 [%d1], %r7;
 ret;
}}
"""
ALIGNED = ".local .align 64 .b8 big[64]; mov.u32 %r20, big; add.u32 %r20, %r20, %r2; st.local.u8 [%r20], %r2;"
READ = "ld.local.u8 %r21, [%r20]; add.u32 %r8, %r8, %r21; and.b32 %r21, %r20, 63; add.u32 %r8, %r8, %r21;"
"""A variable that needs a larger alignment than the stack pointer has; its place is the offset of its only byte."""


def expected(i: int) -> tuple[int, int]:
    """Results of a thread without and with the aligned variable."""
    low, third, fourth = i + 3, 7 * i, i + 100
    inner = (i * low + fourth) + fourth + third
    result = third + fourth + inner + (i ^ 85)
    return result, result + 2 * low


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", [{}, {"debug": True}, {"opt_level": 0}, {"opt_level": 1}], ids=str)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_results(arch: str, aligned: bool, options: dict[str, object]) -> None:
    text = SOURCE.format(
        arch="sm_75" if aligned else arch, local=ALIGNED if aligned else "", use=READ if aligned else ""
    )
    if options.get("debug"):
        options = {**options, "opt_level": 0}
    image = load(orias.compile(text, arch=arch, **options).data)  # type: ignore[arg-type]
    out = np.zeros(32, "u4")
    image.launch("k", 1, 32, [out])
    assert out.tolist() == [expected(i)[aligned] for i in range(32)]
