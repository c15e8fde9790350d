"""Many threads at one address: compare-and-swap in thread order, and a lock that all blocks take."""

from types import SimpleNamespace

import numpy as np
import pytest

import orias
from orias import sim
from orias.sim.sass.exec_mem import compare_and_swap, in_order

LOCK = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 lock)
{
  .reg .b64 %a<4>; .reg .b32 %r<5>; .reg .pred %p<3>; .shared .b32 found;
  ld.param.u64 %a0, [data];
  ld.param.u64 %a1, [lock];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a2, %r0, 4;
  add.s64 %a2, %a0, %a2;
  setp.eq.u32 %p0, %r0, 0;
LOOP:
  @%p0 atom.global.cas.b32 %r1, [%a1], 0, 1;
  @%p0 st.shared.u32 [found], %r1;
  bar.sync 0;
  ld.shared.u32 %r2, [found];
  bar.sync 0;
  setp.eq.u32 %p1, %r2, 1;
  @%p1 bra LOOP;
  ld.global.u32 %r3, [%a2];
  mad.lo.u32 %r3, %r3, 3, 1;
  st.global.u32 [%a2], %r3;
  membar.gl;
  bar.sync 0;
  @%p0 atom.global.exch.b32 %r1, [%a1], 0;
  ret;
}
"""


@pytest.mark.parametrize("top", [5, 1 << 16, 1 << 20, 1 << 34])
def test_threads_at_one_word_keep_their_order(top):
    rng = np.random.default_rng(top)
    for n in (7, 3000):
        for index in (rng.integers(0, top, n), np.sort(rng.integers(0, top, n)), rng.integers(0, 9, n) * (top // 9)):
            assert in_order(index).tolist() == sorted(range(n), key=index.tolist().__getitem__)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("threads", "places"), [(1, 1), (200, 1), (200, 7), (200, 100), (200, 200)])
def test_compare_and_swap_in_thread_order(threads, places, bits):
    rng = np.random.default_rng(threads * places + bits)
    kind, size = np.dtype(f"u{bits // 8}").type, bits // 8
    high = kind(1) << kind(bits - 1)
    memory, expected, new = (rng.integers(0, 3, n).astype(kind) | high for n in (places, threads, threads))
    which = rng.permutation(threads) if places == threads else rng.integers(0, places, threads)
    want, old = memory.tolist(), []
    for at, e, n in zip(which.tolist(), expected.tolist(), new.tolist(), strict=True):
        old.append(want[at])
        if want[at] == e:
            want[at] = n
    flat = SimpleNamespace(views={size: memory})
    got = compare_and_swap(flat, which * size, size, expected, new)
    assert got.dtype == memory.dtype
    assert got.tolist() == old
    assert memory.tolist() == want


@pytest.mark.parametrize("schedule", [0, 3])
def test_a_lock_lets_one_block_in_at_a_time(schedule):
    image = sim.load(orias.compile(LOCK, arch="sm_80").data)
    blocks = 12
    data, lock = np.zeros(96, np.uint32), np.zeros(1, np.uint32)
    image.launch("k", blocks, 96, [data, lock], schedule=schedule)
    want = 0
    for _ in range(blocks):
        want = 3 * want + 1
    assert (data == want).all()
    assert lock[0] == 0
