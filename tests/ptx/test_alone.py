"""Instructions whose messages depend on what else a module has (macros of ptxas, gates of old targets): each in a module of its own."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from tests.nvtools import LIMIT_S, tool
from tests.ptx.probe import head

_COPY = "shared::cluster.global.mbarrier::complete_tx::bytes"
_TEXTURE = "{%f0,%f1,%f2,%f3}"
NARROW = f"""
cp.async.bulk.{_COPY} [sm], [gl], 16, [%ub1];
cp.async.bulk.{_COPY} [%u1], [%rd1], 16, [%u2];
cp.async.bulk.{_COPY} [%h1], [%rd1], 16, [%u2];
cp.async.bulk.{_COPY} [sm], [%u1+4], 16, [mb];
cp.async.bulk.{_COPY} [sm], [%rd1+4], 16, [%rd3];
cp.async.bulk.{_COPY} [sm+4], [gl+4], 16, [mb+4];
cp.async.bulk.tensor.2d.{_COPY} [sm], [%ub2,{{%r1,%u2}}], [mb];
cp.async.bulk.tensor.2d.{_COPY} [sm], [%rd2,{{%r1,%u2}}], [%ub1];
cp.async.bulk.tensor.2d.{_COPY} [%u1], [%rd2,{{%r1,%u2}}], [mb];
cp.async.bulk.tensor.2d.{_COPY} [sm], [gl,{{%r1,%u2}}], [mb];
cp.async.bulk.{_COPY} [%h1], [%h1], %r1, [%r2];
cp.async.bulk.{_COPY}.multicast::cluster [%h1], [%rd1], 16, [mb], %h1;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%ub1], [%u1], 16, [%ub2];
cp.async.bulk.global.shared::cta.bulk_group [%ub1], [sm], 16;
"""
BARRIERS = f"""
cp.async.bulk.{_COPY} [sm], [gl], 16, [%h2];
cp.async.bulk.{_COPY} [sm], [gl], 16, [%us2+4];
cp.async.bulk.{_COPY} [sm], [gl], 16, [%hf2];
cp.async.bulk.{_COPY} [sm], [gl], 16, [%b2];
cp.async.bulk.{_COPY}.L2::cache_hint [sm], [gl], 16, [%h2], %rd1;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [sm], 16, [%h2];
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [sm], 16, [%h2];
"""
PREDICATES = f"""
tex.base.2d.v4.f32.f32 {_TEXTURE}|%p3, [%rd3,{{%f1,%f2}}];
tex.2d.v4.f32.f32 {_TEXTURE}|%p3, [tx,{{%f1,%f2}}];
tld4.r.2d.v4.f32.f32 {_TEXTURE}|%p3, [%rd3,{{%f1,%f2}}];
tex.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%f2}}];
tex.base.2d.v4.f32.f32 {_TEXTURE}|%r3, [%rd3,{{%f1,%f2}}];
"""
OFFSETS = f"""
tex.2d.v4.f32.f32 {_TEXTURE}, [%rd3,{{%f1,%f2}}], {{%r1,%r2}};
tex.2d.v4.f32.f32 {_TEXTURE}|%p1, [%rd3,{{%f1,%f2}}], {{%r1,%r2}}, %f3;
tex.level.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%f2}}], %f1, %f3;
tex.level.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%f2}}], %f1;
tex.grad.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%f2}}], {{%f1,%f2}}, {{%f3,%f4}}, {{%r1,%r2}};
tld4.r.2d.v4.f32.f32 {_TEXTURE}, [%rd3,{{%f1,%f2}}], %f3;
"""
SECOND = f"""
tex.2d.v4.f32.f32 {_TEXTURE}|0, [tx,{{%f1,%f2}}];
tex.2d.v4.f32.f32 {_TEXTURE}|_, [tx,{{%f1,%f2}}];
tex.2d.v4.f32.f32 {_TEXTURE}|!%p1, [tx,{{%f1,%f2}}];
tex.2d.v4.f32.f32 {_TEXTURE}|gl, [tx,{{%f1,%f2}}];
lop3.or.b32 {{%r1}}|_, %r1, %r2, %r3, 5, %p1;
shfl.sync.idx.b32 %r1|_, %r2, %r3, 31, -1;
add.b8x16.b6x16_p32.u32 %r1, %r2, %r3;
add.b8x16.b6x16_p32.b6x16_p32.u32 %r1, %r2, %r3;
add.b8x16.b6x16_p32.b6x16_p32.b8x16.rn.rz.f32 %f1, %f2, %f3;
bar.sync.b8x16.b6x16_p32.b6x16_p32 0;
cp.async.mbarrier.arrive.b64 [gl+8];
cp.async.mbarrier.arrive.noinc.b64 [lo];
cp.async.mbarrier.arrive.b64 [cn];
cp.async.mbarrier.arrive.shared.b64 [lo];
"""
_SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}"
_TENSOR = "tcgen05.mma.cta_group::1.kind::f16"
SWEPT = f"""
st.global.v2.f32 [%rd1], {{%f1,1}};
st.global.b16 [%rd1], {{1.0}};
st.global.u32 [%rd1], {{1.0}};
st.global.b64 [%rd1], {{%clock64}};
st.global.b64 [%rd1], {{%tid.x}};
stmatrix.sync.aligned.m8n8.x4.shared.b16 [sm], {{%r1,%tid,%r3,%r4}};
tex.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%s1}}];
tex.2d.v4.f32.f32 {_TEXTURE}, [tx,{{-1,%f1}}];
tex.a1d.v4.f32.f32 {_TEXTURE}, [tx,{{1,%f1}}];
tex.a2d.v4.f32.f32 {_TEXTURE}, [tx,{{%u1,%f1,%f2,%f3}}];
tex.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%f2}}], sm[4];
tex.grad.2d.v4.f32.f32 {_TEXTURE}, [tx,{{%f1,%f2}}], {{1,2}}, {{%f1,%f2}};
{_SPARSE}, {{%f0,%f1,%f2,%f3}}, %r9, 0;
{_SPARSE}, {{%f0,%f1,%f2,%f3}}, 255, 0;
{_SPARSE}, {{%f0,%f1,%f2,%f3}}, %us1, 0;
{_TENSOR} [%r1], %rd3, %rd4, %r2, %p1;
{_TENSOR} [%r1], %rd3, %rd4, %u2, %p1;
{_TENSOR} [%r1], %rd3, 1.0, %r2, %p1;
{_TENSOR} [%r1], %rd3, %rd4, %r2, 1.0;
cvt.rs.f16x2.f32 %r1, %f1, %f2, %s1;
cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;
cvt.rs.satfinite.e4m3x4.f32 %r1, {{%f1,%f2,%f3,%f4}}, 5;
cvt.rs.satfinite.e4m3x4.f32 %r1, [tx], %r2;
cp.async.bulk.tensor.2d.{_COPY}.multicast::cluster [sm], [%rd2,{{%r1,%r2}}], [mb], %us1;
cp.async.bulk.tensor.2d.{_COPY}.multicast::cluster [sm], [%rd2,{{%r1,%r2}}], [mb], %f1;
cp.async.bulk.{_COPY} [sm], [%rd2], 1048576, [mb];
cp.async.bulk.{_COPY} [sm], [%rd2], -16, [mb];
cp.async.bulk.{_COPY} [sm], [%rd2], 4294967297, [mb];
cp.async.bulk.prefetch.L2.global [%rd2], 4294967296;
mbarrier.test_wait.parity.shared.b64 %p1, [mb], 5;
mbarrier.test_wait.shared.b64 %p1, [mb], 0d3FF0000000000000;
bfe.u32 %r1, %r2, 0xffffffffffffffff, 5;
bfe.u32 %r1, %r2, ~0, 5;
shfl.sync.bfly.b32 %r1|!%p1, %r2, 2, 31, -1;
st.bulk [sf], 8, 0;
elect.sync %r1.b0|%p1, %r2;
shfl.sync.down.b32 %r1.b0|%p1, %r2, %r3, 31, -1;
redux.sync.and.b32 %r1, %f1, -1;
sust.b.2d.v2.b32.clamp [%rd3,{{_,%r2}}], {{%r3,%r4}};
"""
CASES = [
    (line, version, target, arch)
    for lines, version, target, arch in (
        (NARROW, "9.0", "sm_120", "sm_120"),
        (NARROW, "9.0", "sm_100a", "sm_100a"),
        (NARROW, "9.0", "sm_90", "sm_120"),
        (NARROW, "9.0", "sm_120", "sm_90"),
        (NARROW, "9.0", "sm_90", "sm_121a"),
        (SWEPT, "9.0", "sm_100a", "sm_100a"),
        (BARRIERS, "9.0", "sm_100", "sm_100"),
        (PREDICATES, "8.8", "sm_52", "sm_80"),
        (PREDICATES, "7.0", "sm_80", "sm_80"),
        (PREDICATES, "7.1", "sm_60", "sm_90"),
        (OFFSETS, "3.0", "sm_20", "sm_80"),
        (OFFSETS, "7.2", "sm_20", "sm_80"),
        (SECOND, "9.0", "sm_90", "sm_90"),
    )
    for line in lines.split("\n")
    if line
]
_MESSAGE = re.compile(r"ptxas (?:\S+, line \d+; )?(?:error|fatal)\s*: (.*)")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("line", "version", "target", "arch"), CASES)
def test_messages_are_those_of_ptxas(line: str, version: str, target: str, arch: str, tmp_path: Path) -> None:
    text = head(version, target) + line + "\nret;\n}\n"
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-arch", arch, "-O0", "k.ptx", "-o", "k.cubin"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=False).stderr
    theirs = [m[1].strip() for m in map(_MESSAGE.fullmatch, said.splitlines()) if m and "aborted" not in m[1]]
    try:
        orias.compile(text, arch=arch, opt_level=0)
        ours = []
    except orias.CompileError as e:
        ours = [d.message.strip() for d in e.diagnostics if d.severity != "warning"]
    assert ours == theirs
