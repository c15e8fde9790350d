"""Audits by several schedules, and with asynchronous operations that read late: planted faults that the usual order hides."""

from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from orias.cubin.reader import Reader
from orias.isa.isa_table import CTL_SHIFT, load
from orias.target.profile import profile_of_sm
from orias.tools.audit.audit_kernel import DIFFERENT, EQUAL, NOT_COMPARED, Auditor, Verdict
from orias.tools.audit.audit_subject import Binary
from tests.check.plant import sections
from tests.oracle import compile_or_none

NOP = 0x7918
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
PLACES = """ld.param.u64 %d0, [in];
ld.param.u64 %d1, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %d2, %r0, 4;
add.u64 %d0, %d0, %d2;
add.u64 %d1, %d1, %d2;
"""
"""%d0 and %d1: the thread's words of the two arrays."""
EXCHANGE = (
    HEAD
    + """.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 128 {
.reg .b64 %d<6>; .reg .b32 %r<9>;
.shared .align 16 .b8 s[512];
"""
    + PLACES
    + """ld.global.u32 %r1, [%d0];
shl.b32 %r2, %r0, 2;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
bar.sync 0;
xor.b32 %r5, %r2, 256;
add.u32 %r5, %r3, %r5;
ld.shared.u32 %r6, [%r5];
st.global.u32 [%d1], %r6;
ret; }
"""
)
"""Each thread reads what a thread of another warp has stored."""
MEETING = (
    HEAD
    + """.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 32 {
.reg .b64 %d<6>; .reg .b32 %r<9>; .reg .pred %p<4>;
"""
    + PLACES
    + """ld.global.u32 %r1, [%d0];
and.b32 %r2, %r0, 7;
Again:
mad.lo.u32 %r1, %r1, 77, 5;
ld.global.u32 %r4, [%d0+512];
xor.b32 %r1, %r1, %r4;
sub.u32 %r2, %r2, 1;
setp.gt.s32 %p1, %r2, 0;
@%p1 bra Again;
setp.gt.u32 %p2, %r1, 2000000000;
vote.sync.ballot.b32 %r3, %p2, -1;
st.global.u32 [%d1], %r3;
ret; }
"""
)
"""Threads leave a loop at different times and meet at a vote."""
COPY = (
    HEAD
    + """.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 32 {
.reg .b64 %d<6>; .reg .b32 %r<9>;
.shared .align 16 .b8 s[512];
"""
    + PLACES
    + """shl.b32 %r2, %r0, 2;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
cp.async.ca.shared.global [%r4], [%d0], 4;
cp.async.commit_group;
cp.async.wait_group 0;
ld.shared.u32 %r6, [%r4];
st.global.u32 [%d1], %r6;
ret; }
"""
)
PRODUCT = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 128 {
.reg .b64 %d<9>; .reg .b32 %r<9>; .reg .f32 %f<4>;
.shared .align 128 .b8 s[4096];
ld.param.u64 %d0, [in];
ld.param.u64 %d1, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %d2, %r0, 16;
add.u64 %d0, %d0, %d2;
add.u64 %d1, %d1, %d2;
shl.b32 %r2, %r0, 4;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
mov.u32 %r5, 0x3c003c00;
st.shared.v4.b32 [%r4], {%r5, %r5, %r5, %r5};
st.shared.v4.b32 [%r4+2048], {%r5, %r5, %r5, %r5};
fence.proxy.async.shared::cta;
bar.sync 0;
cvt.u64.u32 %d3, %r3;
shr.u64 %d3, %d3, 4;
and.b64 %d3, %d3, 0x3fff;
or.b64 %d4, %d3, 0x0000001000080000;
add.u64 %d5, %d4, 128;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d4, %d5, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
FIRST
SECOND
st.global.v4.f32 [%d1], {%f0, %f1, %f2, %f3};
ret; }
"""
WAIT = "wgmma.wait_group.sync.aligned 0;"
OVERWRITE = "mov.u32 %r6, 0; st.shared.v4.b32 [%r4], {%r6, %r6, %r6, %r6};"


def without(data: bytes, bases: tuple[str, ...]) -> bytes:
    """The cubin with NOP for some operations; there is one at least."""
    table = load(profile_of_sm(Reader(data).sm).table)
    out, count = bytearray(data), 0
    for _, offset, code in sections(data):
        for k in range(0, len(code), 16):
            word = int.from_bytes(code[k : k + 16], "little")
            if table.decode(word).op.base in bases:
                count += 1
                out[offset + k : offset + k + 16] = (word >> CTL_SHIFT << CTL_SHIFT | NOP).to_bytes(16, "little")
    assert count
    return bytes(out)


def audit(text: str, data: bytes) -> Verdict:
    auditor = Auditor(text, turns=1)
    (kernel,) = auditor.kernels()
    return auditor.audit(kernel, Binary("x", data))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize(
    ("text", "bases", "how"),
    [
        (EXCHANGE, ("BAR",), "warps and paths"),
        (MEETING, ("BSYNC", "WARPSYNC"), "warps and paths"),
        (COPY, ("DEPBAR",), "read late"),
    ],
    ids=["barrier", "meeting", "copy"],
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_planted(arch: str, text: str, bases: tuple[str, ...], how: str, ours: bool, tmp_path: Path) -> None:
    """What is missing does not show in the usual order; the audit finds it, and nothing in the sound cubin."""

    path = tmp_path / "k.ptx"
    path.write_text(text)
    data = orias.compile(text, arch=arch).data if ours else compile_or_none(path, arch, ["-O3"], tmp_path)
    assert data is not None
    sound = audit(text, data)
    assert sound.outcome == EQUAL and sound.orders > 0, sound.record()
    found = audit(text, without(data, bases))
    assert found.outcome == DIFFERENT and found.difference is not None
    assert how in found.difference.fill


def test_factor_replaced_before_the_wait() -> None:
    """A warpgroup product whose factor in shared memory is overwritten while it may still be read."""
    good = PRODUCT.replace("FIRST", WAIT).replace("SECOND", OVERWRITE)
    bad = PRODUCT.replace("FIRST", OVERWRITE).replace("SECOND", WAIT)
    sound = audit(good, orias.compile(good, arch="sm_90a").data)
    assert sound.outcome == EQUAL and sound.orders == 3, sound.record()
    found = audit(good, orias.compile(bad, arch="sm_90a").data)
    assert found.outcome == DIFFERENT and found.difference is not None
    assert "read late" in found.difference.fill


@pytest.mark.sweep
@pytest.mark.parametrize("k", [0, 1])
def test_late_reads_change_nothing_in_sound_code(k: int) -> None:
    """Chains of products, with groups that stay in flight."""
    text = (Path(__file__).parents[1] / "wgmma/ptx/attention.ptx").read_text()
    auditor = Auditor(text, turns=1)
    kernels = auditor.kernels()
    data = orias.compile(text, arch="sm_90a").data
    v = auditor.audit(kernels[k % len(kernels)], Binary("ours", data))
    assert v.outcome == EQUAL and v.orders >= v.compared, v.record()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_spin_lock_ends_by_any_schedule(seed: int) -> None:
    path = Path(__file__).parents[1] / "kernels" / "ptx" / "spinlock.ptx"
    image = sim.load(orias.compile(path.read_text(), arch="sm_80").data)
    (name,) = image.kernels
    args = [np.zeros(4096, np.uint32) if p.size == 8 else 4 for p in image.kernels[name].params]
    other = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    image.launch(name, 2, 64, args, max_steps=2_000_000)
    sim.load(orias.compile(path.read_text(), arch="sm_80").data).launch(
        name, 2, 64, other, max_steps=2_000_000, schedule=seed
    )
    for x, y in zip(args, other, strict=True):
        assert not isinstance(x, np.ndarray) or (x == y).all()


OPEN = (
    HEAD
    + """.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 32 {
.reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<2>;
"""
    + PLACES
    + """mov.u64 %d3, 16;
setp.eq.u32 %p1, %r8, 0;
@%p1 st.global.u32 [%d3], %r8;
mov.u32 %r1, 5;
st.global.u32 [%d1], %r1;
ret; }
"""
)
"""Stores where no memory is if a register that nothing writes is zero."""


def test_a_launch_that_the_ptx_leaves_open_is_not_compared() -> None:
    """Nor does that say anything of another cubin that is compared with the same runs of the PTX."""
    right = OPEN.replace("@%p1 st.global.u32 [%d3], %r8;", "")
    wrong = right.replace("mov.u32 %r1, 5;", "mov.u32 %r1, 6;")
    auditor = Auditor(OPEN, turns=1)
    (kernel,) = auditor.kernels()
    first, second = (auditor.audit(kernel, Binary("x", orias.compile(t, arch="sm_80").data)) for t in (wrong, right))
    assert (first.outcome, second.outcome) == (NOT_COMPARED, EQUAL)
    assert "leaves open whether the launch ends" in first.skipped[0]
