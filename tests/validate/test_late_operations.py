"""Operations of other units (tensor memory, bulk copies, copies by cp.async) that are used before the wait for them: only runs in which they are done as late as hardware may show it."""

import pytest

import orias
from orias.tools.audit.audit_kernel import DIFFERENT, EQUAL
from tests.validate.test_audit_orders import audit

HEAD = """.version 8.8
.target TARGET
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) .reqntid THREADS {
    .reg .b32 %r<16>, %me, %s, %bar, %other, %left;
    .reg .b64 %d<9>;
    .reg .pred %p<8>;
    .shared .align 8 .b64 bar;
    .shared .align 8 .b64 other;
    .shared .align 1024 .b8 s[8192];
    ld.param.u64 %d0, [in];
    ld.param.u64 %d1, [out];
    mov.u32 %me, %tid.x;
    mov.u32 %s, s;
    mov.u32 %bar, bar;
    mov.u32 %other, other;
    setp.eq.u32 %p1, %me, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%bar], ARRIVALS;
    @%p1 mbarrier.init.shared::cta.b64 [%other], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
"""
BUSY = """
    mov.u32 %left, 100;
busy:
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [%other], 0;
    sub.u32 %left, %left, 1;
    setp.ne.u32 %p3, %left, 0;
    @%p3 bra busy;
"""
"""Tests an object that nobody arrives at, so that what takes some steps is done."""
WAIT = """
waiting:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [%bar], 0;
    @!%p4 bra waiting;
"""
ZERO = """
    mov.u32 %r9, 0;
    shl.b32 %r8, %me, 6;
    add.u32 %r8, %r8, %s;
    st.shared.v4.b32 [%r8], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r8+16], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r8+32], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r8+48], {%r9, %r9, %r9, %r9};
"""
PRODUCT = """
    .reg .b32 %tmem, %mine, %slot;
    .shared .align 16 .b8 slot[16];
    mov.u32 %slot, slot;
    shr.u32 %r0, %me, 5;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra allocated;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 32;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
allocated:
    mov.u32 %r9, 0x3c003c00;
    shl.b32 %r8, %me, 6;
    add.u32 %r8, %r8, %s;
    st.shared.v4.b32 [%r8], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r8+16], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r8+32], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r8+48], {%r9, %r9, %r9, %r9};
    fence.proxy.async.shared::cta;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %tmem, [%slot];
    shl.b32 %r1, %r0, 21;
    add.u32 %mine, %tmem, %r1;
    @!%p1 bra issued;
    shr.u32 %r2, %s, 4;
    and.b32 %r2, %r2, 0x3fff;
    cvt.u64.u32 %d2, %r2;
    add.u64 %d3, %d2, 0x400800800000;
    add.u64 %d4, %d3, 256;
    mov.u32 %r3, 0x08040010;
    setp.ne.u32 %p5, %me, 0;
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %d3, %d4, %r3, %p5;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
issued:
MIDDLE
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r4, %r5, %r6, %r7}, [%mine];
    tcgen05.wait::ld.sync.aligned;
    mul.wide.u32 %d5, %me, 16;
    add.u64 %d1, %d1, %d5;
    st.global.v4.b32 [%d1], {%r4, %r5, %r6, %r7};
    bar.sync 0;
    @%p0 bra freed;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 32;
freed:
    ret;
}
"""
OWN = """
    mul.wide.u32 %d5, %me, 16;
    add.u64 %d2, %d0, %d5;
    add.u64 %d3, %d1, %d5;
    shl.b32 %r0, %me, 4;
    add.u32 %r0, %r0, %s;
"""
LOAD = "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r0];\n"
COPY = (
    OWN
    + """
    cp.async.ca.shared.global [%r0], [%d2], 16;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%bar];
MIDDLE
    st.global.v4.b32 [%d3], {%r4, %r5, %r6, %r7};
    ret;
}
"""
)
BULK_LOAD = (
    OWN
    + """
    @!%p1 bra issued;
    mbarrier.arrive.expect_tx.shared::cta.b64 %d4, [%bar], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%d0], 512, [%bar];
issued:
MIDDLE
    st.global.v4.b32 [%d3], {%r4, %r5, %r6, %r7};
    ret;
}
"""
)
BULK_STORE = (
    OWN
    + """
    mov.u32 %r9, 77;
    st.shared.v4.b32 [%r0], {%r9, %r9, %r9, %r9};
    st.shared.v4.b32 [%r0+512], {%r9, %r9, %r9, %r9};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p1 bra end;
    add.u32 %r1, %s, 512;
    cp.async.bulk.global.shared::cta.bulk_group [%d1], [%s], 512;
    cp.async.bulk.commit_group;
    add.u64 %d4, %d1, 512;
    cp.async.bulk.global.shared::cta.bulk_group [%d4], [%r1], 512;
    cp.async.bulk.commit_group;
MIDDLE
end:
    ret;
}
"""
)
SECOND = "mov.u32 %r9, 5; st.shared.b32 [%s+512], %r9;\n"
"""Overwrites what the second copy reads."""


def text(body: str, target: str, threads: int, middle: str, arrivals: int) -> str:
    head = HEAD.replace("TARGET", target).replace("THREADS", str(threads)).replace("ARRIVALS", str(arrivals))
    return head + body.replace("MIDDLE", middle)


CASES = {
    "a factor is overwritten": ("sm_100a", PRODUCT, 128, WAIT + BUSY + ZERO, BUSY + ZERO + WAIT, 1),
    "a result is read": ("sm_100a", PRODUCT, 128, WAIT + BUSY, BUSY, 1),
    "a copy by cp.async is read": ("sm_90", COPY, 32, WAIT + BUSY + LOAD, BUSY + LOAD, 32),
    "a bulk copy is read": ("sm_90a", BULK_LOAD, 32, WAIT + BUSY + LOAD, BUSY + LOAD, 1),
    "the source of a bulk copy is overwritten": (
        "sm_90a", BULK_STORE, 32, "cp.async.bulk.wait_group.read 0;\n" + BUSY + SECOND, BUSY + SECOND + "cp.async.bulk.wait_group 0;\n", 1,
    ),
    "a wait leaves one group too many": (
        "sm_120a", BULK_STORE, 32, "cp.async.bulk.wait_group.read 0;\n" + SECOND, "cp.async.bulk.wait_group.read 1;\n" + SECOND, 1,
    ),
}  # fmt: skip
"""Target, kernel, threads, what is right and wrong after the operation was issued, arrivals that the object expects."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", CASES)
def test_planted(name: str) -> None:
    target, body, threads, right, wrong, arrivals = CASES[name]
    good = text(body, target, threads, right, arrivals)
    sound = audit(good, orias.compile(good, arch=target).data)
    assert sound.outcome == EQUAL and sound.orders, sound.record()
    bad = text(body, target, threads, wrong, arrivals)
    found = audit(good, orias.compile(bad, arch=target).data)
    assert found.outcome == DIFFERENT and found.difference is not None, found.record()
    assert "read late" in found.difference.fill
