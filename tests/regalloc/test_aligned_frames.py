"""Frames of kernels whose local variables have large alignments: the bytes of stack that the cubin asks for, and where they lie."""

import numpy as np
import pytest

import orias
from orias.compiler import compile_text
from orias.cubin.reader import Reader
from orias.diag import Unsupported
from orias.options import Options
from orias.ptx.parser import parse
from orias.sim import SimError, load
from orias.sim.ptx import PtxImage

TEXT = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
.local .align %d .b8 e[40];
.reg .b64 %%o, %%a, %%i;
.reg .b32 %%r<4>;
ld.param.u64 %%o, [out];
mov.u32 %%r0, %%tid.x;
mul.wide.u32 %%i, %%r0, 4;
add.u64 %%o, %%o, %%i;
mov.u64 %%a, e;
and.b32 %%r1, %%r0, 28;
cvt.u64.u32 %%i, %%r1;
add.u64 %%i, %%a, %%i;
st.local.u32 [%%i], %%r0;
ld.local.u32 %%r2, [%%a];
cvt.u32.u64 %%r3, %%a;
st.global.u32 [%%o], %%r3;
ret;
}
"""
BYTES = {8: 0x28, 16: 0x30, 32: 0x50, 64: 0x70, 256: 0x1F0}
"""Alignment of 40 bytes, and FRAME_SIZE of ptxas 13.0.88."""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("align", sorted(BYTES))
def test_frame_of_a_kernel(align: int, arch: str) -> None:
    data = orias.compile(TEXT % align, arch=arch).data
    assert Reader(data).kernels["k"].frame_size == BYTES[align]
    out = np.ones(32, np.uint32)
    load(data).launch("k", 1, 32, [out])
    assert not np.any(out % align)


def test_alignments_beyond_local_memory_do_not_run() -> None:
    text = TEXT % (1 << 30)
    with pytest.raises(SimError, match="bytes of stack"):
        load(orias.compile(text, arch="sm_90").data).launch("k", 1, 32, [np.ones(32, np.uint32)])
    with pytest.raises(Unsupported, match="aligned to more"):
        PtxImage(parse(text, "a.ptx"), "sm_90").launch("k", 1, 32, [np.ones(32, np.uint32)])


def test_a_copy_of_the_stack_pointer_in_a_function_without_a_frame() -> None:
    """A function that moves the stack keeps R1 in a register; the check of allocations knows that it is R1 at entry too."""
    text = """.version 9.0
.target sm_80
.address_size 64
.visible .func f(.param .b32 n, .param .b32 m) {
.reg .b32 %r<4>; .reg .b64 %d, %a;
ld.param.b32 %r0, [n]; ld.param.b32 %r1, [m]; and.b32 %r0, %r0, 48; add.u32 %r0, %r0, 16; cvt.u64.u32 %d, %r0;
alloca.u64 %a, %d, 16; st.local.u32 [%a+8], %r1; ret; }
"""
    for level in (0, 3):
        o = Options("sm_80", level)
        o.compile_only = o.self_check = True
        compile_text([("a.ptx", text)], o)
