"""How soon an operation of a warpgroup starts after the arrival of its warps."""

import pytest

import orias
from orias.isa.op import F_WGMMA
from orias.timing.ctl import stall, wait_mask
from tests.schedule.decoded import code_of

_CYCLES = 6
"""What ptxas 13.0.88 leaves at least, 491 times of 4,068 (docs/facts/timing.md)."""
_TEXT = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 a, .param .u64 b, .param .u32 x)
{{
  .reg .u64 %o, %a, %b;
  .reg .u32 %x, %y;
  .reg .f32 %d<4>;
  .reg .pred %p;
  ld.param.u64 %o, [o];
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u32 %x, [x];
  {zero}
  mul.lo.u32 %y, %x, %x;
  setp.ne.u32 %p, {scale}, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, %a, %b, %p, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  mad.lo.u32 %y, %y, %x, 5;
  wgmma.wait_group.sync.aligned 0;
  st.global.v4.f32 [%o], {{%d0, %d1, %d2, %d3}};
  st.global.u32 [%o + 16], %y;
  ret;
}}
"""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("adds", [False, True])
def test_an_operation_starts_some_cycles_after_the_arrival(adds: bool, level: int) -> None:
    """One that starts sooner is an illegal instruction, or reads wrong places, when another warp of the group is late.

    An operation without an addend reads no register that the arrival prepares, but it must not start any sooner.
    """
    text = _TEXT.format(
        zero="mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0;", scale=int(adds)
    )
    insts = code_of(orias.compile(text, arch="sm_90a", opt_level=level).data)
    arrival = next(k for k, d in enumerate(insts) if d.op.name == "WARPGROUP.ARRIVE")
    operation = next(k for k, d in enumerate(insts) if d.op.flags & F_WGMMA)
    assert sum(stall(d.ctl) for d in insts[arrival:operation]) >= _CYCLES
    if level > 0:  # at -O0 every instruction waits for all before it, as ptxas has it
        assert not any(wait_mask(d.ctl) for d in insts[arrival + 1 : operation + 1])
