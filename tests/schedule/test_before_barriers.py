"""What other warps rely on after a barrier of the block is done when the barrier is reached."""

import pytest

import orias
from orias.timing.ctl import read_barrier, wait_mask, write_barrier
from tests.schedule.decoded import code_of

_TEXT = """
.version 8.7
.target {arch}
.address_size 64
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 o)
{{
  .reg .u64 %o;
  .reg .u32 %t, %r;
  ld.param.u64 %o, [o];
  mov.u32 %t, %tid.x;
  st.shared.u32 [bar], %t;
  {before};
  {barrier};
  ld.shared.u32 %r, [bar];
  st.global.u32 [%o], %r;
  ret;
}}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", ["sm_90", "sm_100a", "sm_120"])
@pytest.mark.parametrize(
    ("before", "operation"),
    [
        ("fence.proxy.async.shared::cta", "FENCE"),
        ("fence.proxy.async", "FENCE"),
        ("mbarrier.init.shared.b64 [bar], 1", "SYNCS"),
        ("mbarrier.inval.shared.b64 [bar]", "SYNCS"),
    ],
)
@pytest.mark.parametrize("barrier", ["bar.sync 0", "bar.arrive 1, 64"])
def test_a_barrier_waits(before: str, operation: str, barrier: str, arch: str, level: int) -> None:
    """ptxas 13.0.88 does so; without, one of five products of Triton had stale lines of shared memory on an H100."""
    text = _TEXT.format(arch=arch, before=before, barrier=barrier)
    insts = code_of(orias.compile(text, arch=arch, opt_level=level).data)
    first = max(k for k, d in enumerate(insts) if d.op.base == operation)
    last = next(k for k, d in enumerate(insts) if d.op.base == "BAR")
    board = min(write_barrier(insts[first].ctl), read_barrier(insts[first].ctl))
    assert first < last
    assert board < 7
    assert any(wait_mask(d.ctl) >> board & 1 for d in insts[first + 1 : last + 1])
