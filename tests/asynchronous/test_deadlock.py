"""Threads that wait for a barrier object in vain: the launch ends and says who waits for what."""

import numpy as np
import pytest

from orias.sim import Deadlock, load
from orias.sim.sass import exec_async
from tests.asynchronous.barrier_programs import objects
from tests.asynchronous.harness import Program, init, wait
from tests.forms.run import our_cubin


def test_names_objects_and_waiters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_async, "_PATIENCE", 6_000)
    body = init(3) + "mbarrier.arrive.expect_tx.shared.b64 _, [mb], 48;\n".replace("mbarrier", "@%p6 mbarrier") + wait()
    program = Program("deadlock", body, lambda s: [])
    image = load(our_cubin(program.text("sm_90a"), "sm_90a", 3))
    with pytest.raises(Deadlock) as e:
        image.launch("k", 1, 32, [np.zeros(4, np.uint32), np.zeros(4, np.uint32), bytes(128)], max_steps=2_000_000)
    text = str(e.value)
    assert "32 threads" in text
    assert "of block 0: phase 0, 2 arrivals and 48 bytes pending" in text


def test_copy_is_not_done_at_once() -> None:
    """What is read before its copy was waited for is old."""
    body = (
        init()
        + "st.shared.u32 [smem], 77; fence.proxy.async; @!%p6 bra READ; mbarrier.arrive.expect_tx.shared.b64 _, [mb], 64;\n"
        + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%in], 64, [mb];\n"
        + "ld.volatile.shared.u32 %r1, [smem]; st.global.u32 [%out], %r1;\nREAD:\n"
        + wait()
        + "@%p6 ld.volatile.shared.u32 %r1, [smem]; @%p6 st.global.u32 [%out+4], %r1;\n"
    )
    program = Program("early", body, lambda s: [77, int(s[0])])
    assert program.run("orias", "sm_90a", 3) == ""
    assert program.run("ptxas", "sm_90a", 3) == ""


def test_programs_have_expectations() -> None:
    assert all(any(np.asarray(p.want(p.input())) != 0) for p in objects())
