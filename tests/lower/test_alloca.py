"""Blocks of alloca."""

import numpy as np
import pytest

import orias
from orias import sim

ALLOCA = """.version 8.0
.target sm_75
.address_size 64
.func (.param .b64 r) g(.param .b64 a) {
  .reg .b64 %d<4>;
  .local .align 8 .b8 l[64];
  ld.param.u64 %d1, [a];
  mov.u64 %d2, l;
  add.u64 %d2, %d2, %d1;
  st.local.u64 [%d2], %d1;
  ld.local.u64 %d3, [l+16];
  st.param.b64 [r], %d3;
  ret;
}
.visible .entry k(.param .u64 p, .param .u64 size)
{
  .reg .b64 %d<8>;
  .reg .b32 %r<4>;
  ld.param.u64 %d1, [p];
  ld.param.u64 %d2, [size];
  ld.global.u64 %d4, [%d1];
  alloca.u64 %d3, %d2, ALIGN;
  st.local.u32 [%d3], 5;
  { .param .b64 r; .param .b64 a; st.param.b64 [a], %d4; call (r), g, (a); ld.param.b64 %d5, [r]; }
  st.global.u64 [%d1], %d5;
  ld.local.u32 %r1, [%d3];
  st.global.u32 [%d1+8], %r1;
  ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("align", [1, 4, 8, 32])
def test_the_stack_stays_aligned_after_alloca(arch: str, align: int) -> None:
    """A callee stores 8 bytes in its frame, whatever the size and alignment of its caller's block."""
    image = sim.Image(orias.compile(ALLOCA.replace("ALIGN", str(align)), arch=arch).data)
    for size in (4, 12, 20, 64):
        values = np.array([16, 0], np.uint64)
        image.launch("k", 1, 1, [values, np.uint64(size)])
        assert list(values) == [16, 5]
