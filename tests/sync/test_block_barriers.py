"""Barriers of the block count warps: the threads of a warp come together before them, wherever they are."""

from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from orias.sim.core.sim_errors import PartOfWarp
from tests.oracle import compile_or_none
from tests.rotation import with_later

HEAD = """\
.version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{{
    .reg .b64 %d<6>;
    .reg .b32 %r<12>;
    .reg .pred %p<4>;
    .shared .align 4 .b8 s[512];
    ld.param.u64 %d0, [out];
    ld.param.u64 %d1, [in];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 4;
    add.u64 %d2, %d0, %d2;
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, s;
    add.u32 %r1, %r1, %r2;
    and.b32 %r3, %r0, 3;
    setp.eq.u32 %p0, %r3, 1;
    mad.lo.u32 %r4, %r0, 7, 3;
"""
TAIL = """
    xor.b32 %r5, %r1, 252;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%d2], %r6;
    ret;
}
"""
SIDES = """
    @%p0 bra A;
    st.shared.u32 [%r1], %r4;
    {0};
    bra E;
A:  add.u32 %r4, %r4, 1000;
    st.shared.u32 [%r1], %r4;
    {0};
E:
"""
YIELDING = """
    mov.u32 %r7, 0;
T:  ld.volatile.global.u32 %r8, [%d1];
    add.u32 %r7, %r7, %r8;
    add.u32 %r7, %r7, 1;
    setp.le.u32 %p1, %r7, %r3;
    @%p1 bra T;
    @%p0 add.u32 %r4, %r4, 1000;
    st.shared.u32 [%r1], %r4;
    bar.sync 0;
"""
WAY_ROUND = """
    ld.global.u32 %r7, [%d1];
    setp.ne.u32 %p1, %r7, 0;
    @!%p0 bra E;
    @%p1 bra A;
    shl.b32 %r8, %r3, 5;
    add.u32 %r4, %r4, %r8;
    atom.global.add.u32 %r9, [%d1+4], 1;
    bra B;
A:  {};
    add.u32 %r4, %r4, %r0;
B:  add.u32 %r4, %r4, 968;
    st.shared.u32 [%r1], %r4;
E:  @!%p0 st.shared.u32 [%r1], %r4;
    bar.sync 0;
"""
"""Where the memory holds 0 the threads of one side come to E without what only a whole warp can run."""
BODIES = {
    "sync": SIDES.format("barrier.sync 0"),
    "sync of some": SIDES.format("barrier.sync 1, 64"),
    "number in a register": "add.u32 %r9, %r3, 1; sub.u32 %r9, %r9, %r3;" + SIDES.format("barrier.sync %r9, 64"),
    "constants of another block": "mov.b32 %r9, 3; mov.b32 %r11, 64; setp.ne.u32 %p1, %r3, 9;" + SIDES.format("barrier.sync %r9, %r11"),
    "reduction": SIDES.format("barrier.red.popc.u32 %r10, 0, %p0; add.u32 %r4, %r4, %r10; st.shared.u32 [%r1], %r4; barrier.sync 0"),
    "after a loop with YIELD": YIELDING,
    "a way round a collective": WAY_ROUND.format("shfl.sync.idx.b32 %r4, %r4, 0, 31, -1"),
    "a way round a barrier": WAY_ROUND.format("bar.sync 1"),
}  # fmt: skip


def results(cubin: bytes, schedule: int = 0) -> list[int]:
    out, counter = np.zeros(64, np.uint32), np.zeros(2, np.uint32)
    sim.load(cubin).launch("k", 1, 64, [out, counter], schedule=schedule)
    return [int(x) for x in out]


def wanted(name: str) -> list[int]:
    more = 16 if name == "reduction" else 0
    return [7 * i + 3 + 1000 * (i & 3 == 1) + more for i in (k ^ 63 for k in range(64))]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "block barriers"))
@pytest.mark.parametrize("name", BODIES)
def test_warps_arrive_as_a_whole(name: str, arch: str, tmp_path: Path) -> None:
    text = HEAD.format(arch=arch) + BODIES[name] + TAIL
    for level in (0, 3):
        ours = orias.compile(text, arch=arch, opt_level=level, self_check=True).data
        assert all(results(ours, schedule) == wanted(name) for schedule in (0, 3, 4))
    (tmp_path / "k.ptx").write_text(text)
    theirs = compile_or_none(tmp_path / "k.ptx", arch, [f"-O{3 * (list(BODIES).index(name) % 2)}"], tmp_path)
    assert theirs is not None
    assert results(theirs) == wanted(name)


def test_part_of_a_warp_is_an_error_of_the_simulator() -> None:
    """A GPU lets the others of the block go."""
    text = HEAD.format(arch="sm_90") + "@%p0 bar.sync 0;" + TAIL
    with pytest.raises(PartOfWarp, match=r"part of a warp at a barrier: lane 0 is not there"):
        results(orias.compile(text, arch="sm_90").data)


@pytest.mark.parametrize(("arch", "sync"), [("sm_80", "WARPSYNC 0xffffffff"), ("sm_90", "WARPSYNC.ALL")])
def test_after_yields_and_calls(arch: str, sync: str) -> None:
    """ptxas writes the same; code that the whole warp reaches has none."""
    call = "ld.param.u64 %d3, [in];\nP: .callprototype ()_();\ncall %d3, (), P;\nbar.sync 0;"
    for body, count in ((YIELDING, 1), (call, 1), ("bar.sync 0;", 0)):
        listing = orias.compile(HEAD.format(arch=arch) + body + TAIL, arch=arch).disassemble()
        assert listing.count("BAR.SYNC") == 1
        assert listing.partition("BAR.SYNC")[0].count(sync) == count
