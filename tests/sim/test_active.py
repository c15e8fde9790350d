"""Sets of threads: every representation has the same threads; results go to these threads only; derived values do not go stale."""

import numpy as np
import pytest

from orias import sim
from orias.sim.core.site import blend
from orias.sim.core.state import Active
from tests.sim.build import assemble


def sets(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.flatnonzero(rng.random(200) < share) + 5 for share in (0.02, 0.2, 0.5, 0.9, 1.0)]


@pytest.mark.parametrize("seed", range(4))
def test_parts_and_joins(seed: int) -> None:
    rng = np.random.default_rng(seed + 100)
    for index in sets(seed):
        if not len(index):
            continue
        mask = np.zeros(300, np.bool_)
        mask[index] = True
        row = np.arange(300, dtype="u4")
        for a in (Active(index), Active.where(mask, 0)):
            assert a.n == len(index) and (a.index == index).all() and (row[a.sel] == index).all()
            assert (a.first, a.stop) == (index[0], index[-1] + 1) and (a.warp_of == index >> 5).all()
            keep = rng.random(300) < 0.6
            some = index[keep[index]]
            if not len(some):
                continue
            assert (a.subset(keep[index]).index == some).all()
            part = a.part(keep[a.rows.sel])
            assert (part.index == some).all()
            if len(some) < len(index):
                other = a.part(~keep[a.rows.sel])
                for x, y in ((part, other), (other, part), (Active(some), other)):
                    assert (x.join(y).index == index).all()
            rows = a.rows
            assert rows.rows is rows and (rows is a) == (rows.lanes is None)
            if rows.lanes is not None:
                assert isinstance(rows.sel, slice)
                got = row.copy()
                blend(got[rows.sel], np.full(1, 9, "u4"), rows.words)
                assert (got == np.where(mask, 9, row)).all()


def test_a_part_keeps_its_threads_when_the_predicate_changes() -> None:
    predicate = np.arange(64) % 3 == 0
    part = Active(np.arange(64)).part(predicate[0:64])
    predicate[:] = False
    assert (part.index == np.arange(0, 64, 3)).all()


POINTERS = """.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q) {
  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 4 .b8 s[1024];
  ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2;
  mov.u32 %r7, s; shl.b32 %r6, %r0, 2; add.u32 %r6, %r6, %r7; mov.u32 %r4, 0; mov.u32 %r5, 0;
L: ld.global.u32 %r1, [%d3]; ld.global.u32 %r2, [%d3+256]; st.shared.u32 [%r6], %r1; add.u32 %r4, %r4, %r1; add.u32 %r4, %r4, %r2;
  and.b32 %r3, %r4, 1; setp.eq.u32 %p, %r3, 0; @%p add.u64 %d3, %d3, 4; @!%p add.u64 %d3, %d3, 12;
  @%p bra E; atom.shared.add.u32 %r8, [%r6], 3; add.u32 %r4, %r4, %r8; st.global.u32 [%d3+1024], %r8;
E: ld.shared.u32 %r1, [%r6]; mad.lo.u32 %r4, %r4, 5, %r1; add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 9; @%p bra L;
  add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r4; ret; }
"""


def test_pointers_that_move_apart() -> None:
    rng = np.random.default_rng(5)
    data = rng.integers(0, 1000, 600).astype("u4")
    image = sim.load(assemble(POINTERS, "sm_80", "-O1"))
    out = np.zeros(64, "u4")
    start = data.copy()
    counts = image.launch("k", 1, 64, [data, out]).instructions
    want = np.zeros(64, "u4")
    for t in range(64):
        at, total = t, 0
        for _ in range(9):
            x = int(start[at])
            total, slot = total + x + int(start[at + 64]), x
            if total % 2 == 0:
                at += 1
            else:
                at, slot, total = at + 3, slot + 3, total + slot
            total = (total * 5 + slot) % (1 << 32)
        want[t] = total
    assert (out == want).all() and (data[:256] == start[:256]).all() and (data != start).any()
    slow, same = np.zeros(64, "u4"), start.copy()
    watched = image.launch("k", 1, 64, [same, slow], hazards="stale")
    assert (slow == out).all() and (same == data).all() and watched.instructions == counts
