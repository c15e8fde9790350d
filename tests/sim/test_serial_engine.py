"""The PTX interpreter with one thread at a time: threads that poll let others run."""

import numpy as np

from orias.ptx.parser import parse
from orias.sim.ptx.choice import CHOICES
from orias.sim.ptx.ptx_image import PtxImage

POLLING = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<3>; .shared .align 8 .b64 arrivals;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, arrivals; setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 64;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 %rd2, [%r2];
L: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra L;
  mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; st.global.u32 [%rd1], %r1; ret;
}
"""


def test_polling_threads_let_others_run() -> None:
    """Each of 64 threads polls some hundred times, not for a whole turn, before the last one arrives."""
    assert CHOICES[2].serial
    image = PtxImage(parse(POLLING, "k.ptx"), "sm_90", CHOICES[2])
    out = np.zeros(64, np.uint32)
    result = image.launch("k", 1, 64, [out])
    assert out.tolist() == list(range(64))
    assert 64 * 64 < result.instructions < 64 * 256
