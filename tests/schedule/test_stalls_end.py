"""Stall counts around loops with several ways: the computation ends."""

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 120
"""The compile takes a second; it did not end."""
TEXT = """
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 o)
{
    .reg .pred %p<7>;
    .reg .b16 %rs<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [o];
    ld.global.u32 %r1, [%rd1];
    ld.global.u8 %rs2, [%rd1+4];
    cvt.u32.u16 %r8, %rs2;
    cvt.s32.s8 %r2, %r8;
    ld.global.s16 %rs1, [%rd1+6];
    setp.gt.s16 %p2, %rs1, 0;
    setp.ne.s32 %p4, %r1, 0;
    setp.ne.s16 %p6, %rs2, 0;
    mov.b32 %r10, 33;
    mov.b32 %r13, 0;
    mov.u32 %r14, %r13;
    bra.uni TEST;
STORE:
    st.global.u32 [%rd1+8], %r15;
    st.global.u32 [%rd1+12], %r2;
    mov.u32 %r14, %r13;
    @%p6 bra TEST;
    bra.uni END;
TEST:
    @%p2 bra NEXT;
    ld.global.u8 %rs3, [%rd1+16];
    setp.ne.s16 %p3, %rs3, 0;
    @%p3 bra NEXT;
    bra.uni EVER;
NEXT:
    mov.u32 %r15, %r13;
    @%p4 bra STORE;
    add.s32 %r14, %r14, 1;
    setp.ne.s32 %p5, %r14, 33;
    mov.u32 %r15, %r10;
    @%p5 bra TEST;
    bra.uni STORE;
END:
    st.global.u32 [%rd1+20], %r13;
    ret;
EVER:
    st.global.u32 [%rd1+8], %r14;
AGAIN:
    bra.uni AGAIN;
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90a"])
def test_the_stalls_of_loops_end(arch: str, tmp_path: Path) -> None:
    """Two moves of one loop came in turn as the last one before its head, without an end."""
    text = tmp_path / "loops.ptx"
    text.write_text(TEXT)
    command = [sys.executable, "-m", "orias", f"-arch={arch}", "-O2", str(text), "-o", str(tmp_path / "loops.cubin")]
    assert subprocess.run(command, timeout=LIMIT_S, check=False).returncode == 0
