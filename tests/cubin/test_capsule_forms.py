"""Code that once had no capsule: compiled with capsules required, finalised for the sibling, and compared word by word."""

from pathlib import Path

import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.tensor_memory.programs import reductions
from tests.tensor_memory.test_programs import _run as run_program
from tools.capsules.campaign import differences
from tools.capsules.finalising import finalise

LIMIT_S = 60.0
HEAD = ".version 9.0\n.target {arch}\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 p, .param .u32 t, .param .u32 n) {{
.reg .b64 %p, %q, %rd<4>; .reg .b32 %t, %n, %r<9>, %a; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .pred %x, %y; .shared .align 16 .b64 b[64];
ld.param.u64 %p, [p]; ld.param.u32 %t, [t]; ld.param.u32 %n, [n]; mov.u32 %a, b; mov.u32 %r7, %tid.x;
ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%p]; ld.global.u64 %q, [%p+16]; ld.global.v2.f32 {{%f0, %f1}}, [%p+32]; setp.ne.s32 %y, %r3, 77;
{line}
ret; }}
"""
WAIT = "mbarrier.try_wait{form} %x, [%a{offset}], {operands}; selp.u32 %r4, 1, 0, %x; st.global.u32 [%p+64], %r4;"
LINES = {
    "wait with a constant time": WAIT.format(form=".parity.shared::cta.b64", offset="+16", operands="%r0, 0x989680"),
    "wait with a time in a register": WAIT.format(form=".parity.shared::cta.b64", offset="", operands="%r0, %r1"),
    "wait for a state with a time": WAIT.format(form=".shared::cta.b64", offset="", operands="%q, 50"),
    "wait that acquires": WAIT.format(form=".parity.acquire.cluster.shared::cta.b64", offset="", operands="1, %r1"),
    "exclusive or with a predicate": "xor.b32 %r4, %r0, %r1; setp.ne.u32 %x, %r4, 0; selp.u32 %r5, %r4, %r2, %x;"
    " st.global.v2.u32 [%p+64], {%r4, %r5};",
    "store of matrices at a uniform address": "shl.b32 %r4, %r7, 4; add.u32 %r4, %r4, %a; add.u32 %r4, %r4, %t;"
    " stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r4], {%r0, %r1};",
    "reversal of a constant": "brev.b32 %r4, 2; st.global.u32 [%p+64], %r4;",
    "a pack of two bytes with a constant": "cvt.rn.satfinite.e5m2x2.f32 %h0, %f0, 0f3f800000; st.global.u16 [%p+64], %h0;",
    "tf32 of a constant": "cvt.rn.relu.satfinite.tf32.f32 %r4, 0f3f812345; st.global.u32 [%p+64], %r4;",
    "barrier of a cluster": "barrier.cluster.arrive.aligned; add.u32 %r4, %r0, %r1; barrier.cluster.wait.aligned; mul.lo.u32 %r4, %r4, %r2;"
    " st.global.u32 [%p+64], %r4;",
    "releases to global memory": "st.async.release.gpu.global.u32 [%p+64], %r0; red.async.release.sys.global.add.u64 [%p+72], %q;"
    " st.async.mmio.release.sys.global.u32 [%p+80], %r1; red.async.mmio.release.sys.global.add.u32 [%p+84], %r2;",
    "accesses to devices": "ld.mmio.relaxed.sys.global.u8 %r4, [%p+64]; st.mmio.relaxed.sys.global.u64 [%p+72], %q;"
    " st.mmio.relaxed.sys.global.u32 [%p+80], %r4;",
    "reductions into shared memory of the cluster": "".join(
        f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op} [%a], [%a+128], 16, [%a+64];"
        for op in ("add.s32", "min.u32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32", "add.u64")
    ),
    "256 bits with a size for the cache": "ld.global.L1::no_allocate.L2::256B.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%p+64];"
    " add.u64 %rd0, %rd0, %rd3; add.u64 %rd1, %rd1, %rd2; st.global.v2.b64 [%p+64], {%rd0, %rd1};",
    "remote end of arrivals": "mapa.shared::cluster.u32 %r4, %a, %t; mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r4], 0;"
    " mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 0;",
    "division by a uniform value": "cvt.rn.f32.u32 %f2, %t; add.f32 %f2, %f2, 0f3f000000; div.rn.f32 %f3, %f0, %f2;"
    " st.global.f32 [%p+64], %f3;",
    "generic accesses that are relaxed": "add.u64 %q, %p, 128; "
    + "".join(
        f"@%y ld.relaxed.{scope}.u32 %r4, [%q+4]; @%y atom.relaxed.{scope}.add.u32 %r5, [%q+8], %r4; @%y st.relaxed.{scope}.u8 [%q+12], %r5;"
        f" atom.relaxed.{scope}.exch.b64 %rd0, [%q+16], %rd0; atom.relaxed.{scope}.cas.b32 %r6, [%q+24], %r4, %r5;"
        for scope in ("cta", "gpu", "sys")
    )
    + "st.global.v2.u32 [%p+64], {%r5, %r6};",
    "bytes and bf16": ".reg .b8 %c; cvt.u8.u32 %c, %r0; cvt.rn.bf16.s8 %h0, %c; st.global.u16 [%p+64], %h0;",
}
OBJECTS = [(name, arch, level) for name in LINES for arch, level in (("sm_100", 3), ("sm_120", 0), ("sm_120", 3))]


def compiled(text: str, arch: str, level: int) -> bytes:
    o = _required(arch, level)
    o.compile_only = True
    return compile_text([("a.ptx", HEAD.format(arch=arch) + text)], o).data


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("case", OBJECTS, ids=lambda c: "-".join(map(str, c)))
def test_finalised(tmp_path: Path, case: tuple[str, str, int]) -> None:
    name, arch, level = case
    before = compiled(KERNEL.format(line=LINES[name]), arch, level)
    after, why = finalise(before, arch, tmp_path, LIMIT_S)
    assert not why
    assert differences(before, after) == (1, [])


GUARDED = """.visible .entry k(.param .u64 p, .param .u32 t) {
.reg .b64 %p; .reg .b32 %t, %r<4>; .reg .pred %x;
ld.param.u64 %p, [p]; ld.param.u32 %t, [t]; ld.global.v2.u32 {%r0, %r1}, [%p]; setp.ne.s32 %x, %t, 77;
@%x tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%t], 2, {%r0, %r1}; tcgen05.wait::st.sync.aligned;
mov.b32 %r2, 0; mov.b32 %r3, 0; @!%x tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r2, %r3}, [%t], 2; tcgen05.wait::ld.sync.aligned;
st.global.v2.u32 [%p], {%r2, %r3}; ret; }
"""


@pytest.mark.parametrize("level", [0, 1, 3])
def test_guarded_halves(tmp_path: Path, level: int) -> None:
    """Accesses to tensor memory by 16 lanes keep the branch around them: no capsule states a guarded half."""
    before = compiled(GUARDED, "sm_100f", level)
    after, why = finalise(before, "sm_100f", tmp_path, LIMIT_S)
    assert not why
    assert differences(before, after) == (1, [])


@pytest.mark.parametrize("level", [0, 3])
def test_reductions_by_16_lanes(level: int) -> None:
    """Both halves load into the same registers, as one Mercury instruction."""
    p = next(p for p in reductions() if p.name == "red.16x32bx2.x4.max.abs.NaN.f32")
    run_program(p, compile_text([("a.ptx", p.text("sm_103a"))], _required("sm_103a", level)).data)


def _required(arch: str, level: int) -> Options:
    o = Options(arch, level)
    o.capsules = "require"
    return o
