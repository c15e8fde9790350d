"""Blocks of a launch on several cores: the same memory of device and host, text and errors as on one."""

import shutil
import sys
import threading
from ctypes import c_size_t, c_uint64, c_void_p

import numpy as np
import pytest

from orias.cli.exec_command import settings
from orias.cli.toolerror import ToolError
from orias.driver import calls_launch
from orias.driver.timeline import Timeline
from orias.sim.core import parallel_blocks
from tests.driver.test_driver import allocate, context, cuda, function, launch  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the driver library needs a C compiler")
BLOCKS, THREADS = 130, 1024
"""Five batches."""
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
START = """
  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;
  ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 1024, %r1; cvt.u64.u32 %d1, %r2;
"""
BODIES = {
    # Neighbouring bytes of different blocks: byte 131 * thread + block.
    "bytes": "mul.wide.u32 %d2, %r1, 131; cvt.u64.u32 %d3, %r0; add.u64 %d2, %d2, %d3; add.u64 %d2, %d0, %d2;"
    "add.u32 %r3, %r0, %r1; st.global.u8 [%d2], %r3;",
    "words": "shl.b64 %d2, %d1, 2; add.u64 %d2, %d0, %d2; st.global.u32 [%d2], %r2;",
    "wide": "shl.b64 %d2, %d1, 2; add.u64 %d2, %d0, %d2; and.b32 %r3, %r1, 3; setp.ne.u32 %p, %r3, 0; @%p bra DONE;"
    "st.global.v4.u32 [%d2], {%r2, %r0, %r1, 7};",
    "generic": "shl.b64 %d2, %d1, 2; add.u64 %d2, %d0, %d2; st.u32 [%d2], %r2;",
    "scattered": "mul.wide.u32 %d2, %r1, 4096; mul.wide.u32 %d3, %r0, 8; add.u64 %d2, %d2, %d3; add.u64 %d2, %d0, %d2;"
    "st.global.u64 [%d2], %d1;",
    "bulk": ".shared .align 16 .b8 s[4096]; mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;"
    "st.shared.u32 [%r4], %r2; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p, %r1, 0; @%p bra DONE;"
    "shl.b64 %d2, %d1, 2; add.u64 %d2, %d0, %d2; cp.async.bulk.global.shared::cta.bulk_group [%d2], [%r3], 4096;"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "added": "red.global.add.u32 [%d0], 1; shl.b64 %d2, %d1, 2; add.u64 %d2, %d0, %d2; st.global.u32 [%d2+4], %r2;",
}
SIZE = 1024 * 4096 + 8 * BLOCKS


def kernel(body):
    return f"{HEAD}.visible .entry k(.param .u64 out) {{{START}{body}\nDONE: ret; }}".encode()


@pytest.fixture
def forks(monkeypatch):
    """The bounds of the shares that other processes run."""
    started = []

    class Child(parallel_blocks._Child):
        def __init__(self, launch, start, stop):
            started.append((start, stop))
            super().__init__(launch, start, stop)

    monkeypatch.setattr(parallel_blocks, "_Child", Child)
    # Threads of the process that runs the tests (pytest-xdist has one) do not count.
    before = len(sys._current_frames())
    monkeypatch.setattr(parallel_blocks, "_other_threads", lambda: len(sys._current_frames()) > before)
    monkeypatch.setattr(calls_launch, "_PATIENCE", 1e-9)
    # Tests with events have asked for the time of launches, which then run in one process.
    monkeypatch.setattr(Timeline.shared(), "modelled", False)
    return started


def stored(cuda, f, on_host):  # noqa: F811
    host = np.zeros(SIZE, np.uint8)
    place = c_uint64(host.ctypes.data) if on_host else allocate(cuda, SIZE)
    if not on_host:
        cuda("cuMemsetD8_v2", place, 0, c_size_t(SIZE))
    assert launch(cuda, f, BLOCKS, THREADS, [place]) == 0
    if not on_host:
        cuda("cuMemcpyDtoH_v2", c_void_p(host.ctypes.data), place, c_size_t(SIZE))
        cuda("cuMemFree_v2", place)
    return host


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize("name", list(BODIES))
def test_same_memory(context, forks, monkeypatch, name, on_host):  # noqa: F811
    if name == "bulk" and on_host:
        pytest.skip("the host's memory is no multiple of 16")
    f = function(context, kernel(BODIES[name]), b"k")
    monkeypatch.setattr(calls_launch, "_CORES", 1)
    one = stored(context, f, on_host)
    assert not forks and one.any()
    monkeypatch.setattr(calls_launch, "_CORES", 3)
    assert np.array_equal(stored(context, f, on_host), one)
    assert forks == ([] if name == "added" else [(64, 97), (97, 130)])


def test_an_error_of_another_process(context, forks, monkeypatch, capfd):  # noqa: F811
    monkeypatch.setattr(calls_launch, "_CORES", 2)
    body = "setp.ne.u32 %p, %r0, 101; @%p bra DONE; mov.u64 %d1, 8; st.global.u32 [%d1], 1;"
    assert launch(context, function(context, kernel(body), b"k"), BLOCKS, THREADS, [allocate(context, 8)]) == 0
    assert context.code("cuCtxSynchronize") == 700
    assert "block (101, 0, 0)" in capfd.readouterr().err and forks == [(81, 130)]


def test_a_process_that_ends(context, forks, monkeypatch):  # noqa: F811
    """Its blocks run here."""
    monkeypatch.setattr(calls_launch, "_CORES", 2)
    monkeypatch.setattr(parallel_blocks, "_share", lambda *_: 1 / 0)
    f = function(context, kernel(BODIES["words"]), b"k")
    assert np.array_equal(stored(context, f, False)[: 4 * BLOCKS * THREADS].view("u4"), np.arange(BLOCKS * THREADS))
    assert forks == [(81, 130)]


def test_short_launches_stay(context, forks, monkeypatch):  # noqa: F811
    monkeypatch.setattr(calls_launch, "_CORES", 2)
    monkeypatch.setattr(calls_launch, "_PATIENCE", 60.0)
    assert stored(context, function(context, kernel(BODIES["words"]), b"k"), False).any()
    assert not forks


@pytest.mark.parametrize("given", ["0", "-1", "two"])
def test_a_number_of_cores_that_is_none(given):
    with pytest.raises(ToolError, match=f"--cores {given}: a number from 1 on"):
        settings({"ORIAS_CORES": given})


def test_the_number_of_cores_reaches_the_program():
    assert settings({"ORIAS_CORES": "3"})["ORIAS_CORES"] == "3"


def test_other_threads_of_python(context, forks, monkeypatch):  # noqa: F811
    """A forked process would wait for ever for what they have locked."""
    monkeypatch.setattr(calls_launch, "_CORES", 2)
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert stored(context, function(context, kernel(BODIES["words"]), b"k"), False).any()
    finally:
        end.set()
        other.join()
    assert not forks
