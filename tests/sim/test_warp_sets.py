"""Lanes of a warp that meet in several sets, in one warp and in many."""

import numpy as np
import pytest

import orias
from orias import sim

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %d<3>;
  ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0;
  mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %d0, %d1; and.b32 %r4, %r0, 31; mov.u32 %r8, 7; setp.ge.u32 %p1, %r4, 24; @%p1 bra DONE;
  mul.lo.u32 %r5, %r3, 40503; shr.u32 %r5, %r5, 5; and.b32 %r5, %r5, 3; activemask.b32 %r6;
  match.any.sync.b32 %r7, %r5, %r6; setp.gt.u32 %p2, %r5, 1; @%p2 bra LATE; bar.warp.sync %r7; add.u32 %r8, %r7, 1; bra DONE;
  LATE: bar.warp.sync %r7; xor.b32 %r8, %r7, 5; DONE: st.global.u32 [%d1], %r8; ret;
}"""


def expected(threads: int) -> list[int]:
    result = []
    for t in range(threads):
        keys = [(w * 40503 & 0xFFFFFFFF) >> 5 & 3 for w in range(t & ~31, (t & ~31) + 24)]
        lane = t & 31
        if lane >= 24:
            result.append(7)
            continue
        mask = sum(1 << k for k, key in enumerate(keys) if key == keys[lane])
        result.append(mask ^ 5 if keys[lane] > 1 else mask + 1)
    return result


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (3, 96), (40, 256)])
@pytest.mark.parametrize("keep", [False, True])
def test_sets_of_a_warp_meet(arch: str, blocks: int, threads: int, keep: bool) -> None:
    image = sim.load(orias.compile(KERNEL, arch=arch, keep_warp_barriers=keep).data)
    out = np.zeros(blocks * threads, np.uint32)
    image.launch("k", blocks, threads, [out])
    assert out.tolist() == expected(blocks * threads)
