"""Blocks that wait for each other: a grid that is resident as a whole runs together, however large."""

import numpy as np

import orias
from orias.sim.core.image import load
from orias.sim.core.launch import BATCH_THREADS

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry meet(.param .u64 count, .param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %a<3>;
  ld.param.u64 %a0, [count]; ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
  setp.ne.u32 %p0, %r0, 0; @%p0 bra $Done;
  atom.global.add.u32 %r3, [%a0], 1;
$Wait:
  ld.volatile.global.u32 %r4, [%a0]; setp.lt.u32 %p1, %r4, %r2; @%p1 bra $Wait;
  mul.wide.u32 %a2, %r1, 4; add.u64 %a1, %a1, %a2; st.global.u32 [%a1], %r4;
$Done:
  bar.sync 0; ret;
}
"""


def test_a_resident_grid_of_more_threads_than_run_at_a_time_meets():
    image = load(orias.compile(PTX, arch="sm_80").data)
    blocks = BATCH_THREADS // 1024 + 1
    out = np.zeros(blocks, np.int32)
    image.launch("meet", blocks, 1024, [np.zeros(1, np.int32), out], max_steps=100_000, resident=blocks)
    assert (out == blocks).all()
