"""The modelled time of a whole launch: how it grows with the grid, and what of it a sample of blocks gives."""

import numpy as np
import pytest

import orias
from orias.perf import launch_time
from orias.perf.kernel_steps import kernels
from orias.sim.core.image import load

SMS = 132
PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry walk(.param .u64 from, .param .u64 to, .param .u32 step, .param .u32 turns)
{
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a<4>; .reg .f32 %f<2>;
  ld.param.u64 %a0, [from]; ld.param.u64 %a1, [to]; ld.param.u32 %r0, [step]; ld.param.u32 %r1, [turns];
  mov.u32 %r2, %tid.x; mul.wide.u32 %a2, %r2, 4; add.u64 %a0, %a0, %a2; add.u64 %a1, %a1, %a2;
  cvt.u64.u32 %a3, %r0; mov.f32 %f0, 0f00000000;
$L:
  ld.global.f32 %f1, [%a0]; add.f32 %f0, %f0, %f1; add.u64 %a0, %a0, %a3;
  sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra $L;
  st.global.f32 [%a1], %f0; ret;
}
"""


@pytest.fixture(scope="module")
def cycles():
    data = orias.compile(PTX, arch="sm_90").data
    image, code = load(data), kernels(data)[0]

    def run(grid, block=64, step=128, turns=8, sms=SMS):
        time = launch_time.LaunchTime(image, code, grid, block, 0)
        args = [np.ones(step * turns // 4 + block, np.float32), np.zeros(block, np.float32), step, turns]
        image.launch("walk", grid, block, args, timing=time.start)
        return time.cycles(sms)

    return run


def test_blocks_fill_all_multiprocessors_before_one_gets_two(cycles):
    one = cycles(1)
    assert cycles(100) == one == cycles(1)
    assert cycles(SMS) == one < cycles(SMS + 1)


def test_twice_the_blocks_of_full_multiprocessors_take_twice_the_time(cycles):
    few, many = (cycles(n, turns=2, sms=1) for n in (96, 192))
    assert many == pytest.approx(2 * few, rel=0.01)


def test_data_that_a_block_has_loaded_is_near(cycles):
    assert cycles(1, step=0) < 0.7 * cycles(1, step=128)


def test_a_long_launch_is_extrapolated(cycles, monkeypatch):
    whole = cycles(2, turns=100, step=4)
    monkeypatch.setattr(launch_time, "_ROOM", 500)
    assert cycles(2, turns=100, step=4) == pytest.approx(whole, rel=0.25)


def test_the_same_work_is_played_once(monkeypatch):
    data = orias.compile(PTX, arch="sm_90").data
    image, code = load(data), kernels(data)[0]
    played = []
    player = launch_time.Player

    def counted(*arguments):
        played.append(arguments)
        return player(*arguments)

    monkeypatch.setattr(launch_time, "Player", counted)

    def cycles(turns, threads=64):
        time = launch_time.LaunchTime(image, code, 8, threads, 0)
        args = [np.ones(4096, np.float32), np.zeros(threads, np.float32), 128, turns]
        image.launch("walk", 8, threads, args, timing=time.start)
        return time.cycles(SMS)

    first = cycles(8)
    count = len(played)
    assert cycles(8) == first and len(played) == count
    assert cycles(9) > first and len(played) > count
    count = len(played)
    assert cycles(8, 128) != first and len(played) > count
