"""Barrier objects, copies, fences and products that ptxas refuses, in its words: what the programs of all opcodes brought to light."""

import subprocess
from pathlib import Path

import pytest

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from tests.nvtools import LIMIT_S, tool

DONE = "mbarrier::complete_tx::bytes"
INSIDE = f"cp.reduce.async.bulk.shared::cluster.shared::cta.{DONE}"
RED = f"red.async.relaxed.cluster.{DONE}"
WRONG = [
    "cp.async.bulk.prefetch.L2 [%rd1], 256;",
    "cp.async.bulk.prefetch.L2.L2::cache_hint [%rd1], 256, %rd2;",
    "cp.async.bulk.prefetch.tensor.1d.L2 [%rd1, {%r1}];",
    f"{INSIDE}.L2::cache_hint.add.u32 [%r1], [%r2], 16, [%r3], %rd4;",
    f"cp.async.bulk.shared::cluster.shared::cta.{DONE}.L2::cache_hint [%r1], [%r2], 16, [%r3], %rd4;",
    f"{INSIDE}.max.s64 [%r1], [%r2], 16, [%r3];",
    f"{INSIDE}.min.u64 [%r1], [%r2], 16, [%r3];",
    f"{INSIDE}.xor.b64 [%r1], [%r2], 16, [%r3];",
    f"st.async.{DONE}.v4.s64 [%r6], {{%rd6, %rd6, %rd6, %rd6}}, [%r9];",
    f"{RED}.inc.s64 [%r6], %rd6, [%r9];",
    f"{RED}.max.u64 [%r6], %rd6, [%r9];",
    f"{RED}.and.b64 [%r6], %rd6, [%r9];",
    "mbarrier.arrive.relaxed.cluster.noComplete.b64 %rd3, [%rd9], 2;",
    "mbarrier.arrive_drop.release.cluster.noComplete.b64 %rd3, [%rd9], 2;",
    "mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r3,%r4}, {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
    "ldmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 {%r1}, [%r2];",
    "stmatrix.sync.aligned.m8n8.x2.trans.shared::cluster.b16 [%r2], {%r1, %r3};",
    "mma.sp.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16 {%r1,%r2}, {%r3,%r4,%r5,%r6}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, %r7, 0;",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16 {%r1,%r2}, {%r3,%r4,%r5,%r6}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, %r7, 0;",
    "fence.proxy.tensormap::generic.cta;",
    "fence.proxy.async::generic;",
    "fence.proxy.async::generic.acquire.cluster;",
    "fence.proxy.async::generic.acquire.cta.sync_restrict::shared::cluster;",
    "fence.proxy.async::generic.release.cluster.sync_restrict::shared::cluster;",
    "fence.proxy.async::generic.acquire;",
    "cp.async.bulk.weak.global.shared::cta.bulk_group [%rd1], [%r1], 16;",
    "cp.async.bulk.relaxed.sys.global.shared::cta.bulk_group [%rd1], [%r1], 16;",
    "cp.async.bulk.relaxed.global.shared::cta.bulk_group [%rd1], [%r1], 16;",
    "min.f32 %f1, %f2, %f3, %f4;",
    "spcompress.b8.sp::2:4.x1 {%r1}, {%r2}, {%r1,%r2}, %r3;",
]
RIGHT = [
    f"st.async.{DONE}.b32 [%rd1], %r7, [%rd2];",
    f"{RED}.add.s64 [%r6], %rd6, [%r9];",
    f"{INSIDE}.add.u64 [%r1], [%r2], 16, [%r3];",
    "mbarrier.arrive.release.cta.noComplete.shared.b64 %rd3, [%r1], 2;",
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
    "cp.async.bulk.sys.global.shared::cta.bulk_group [%rd1], [%r1], 16;",
    "mbarrier.arrive.b64 %rd3, [%rd9], 2;",
]


OLD = [
    (line, version, arch)
    for line in (
        "mbarrier.arrive.relaxed.cta.b64 %rd3, [%rd9];",
        "mbarrier.arrive_drop.release.cta.b64 %rd3, [%rd9];",
        "mbarrier.test_wait.acquire.cta.b64 %p1, [%rd9], %rd3;",
        "mbarrier.try_wait.parity.relaxed.cta.b64 %p1, [%rd9], 0;",
        "mbarrier.arrive.b64 %rd3, [%rd9], 2;",
        "mbarrier.arrive_drop.b64 %rd3, [%rd9], %r1;",
        "mbarrier.arrive.b64 %rd3, [%rd9], 0;",
        "mbarrier.arrive.noComplete.b64 %rd3, [%rd9], 2;",
        "max.f32 %f1, %f2, %f3, %f4;",
    )
    for version, arch in (("8.7", "sm_80"), ("7.8", "sm_90"), ("8.5", "sm_90a"))
]


def module(line: str, version: str, arch: str) -> str:
    head = f".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k() {{"
    return f"{head} .reg .b64 %rd<10>; .reg .b32 %r<10>; .reg .f32 %f<8>; .reg .pred %p<2>;\n{line}\nret; }}\n"


def ours(line: str, version: str = "8.7", arch: str = "sm_90a") -> list[str]:
    try:
        compile_text([("a.ptx", module(line, version, arch))], Options(arch, 3))
    except CompileError as e:
        return [d.message for d in e.diagnostics if d.severity == "error"]
    return []


def theirs(line: str, directory: Path, version: str = "8.7", arch: str = "sm_90a") -> list[str]:
    source = directory / "a.ptx"
    source.write_text(module(line, version, arch))
    command = [tool("ptxas"), f"-arch={arch}", str(source), "-o", str(directory / "a.cubin")]
    p = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    return [x.partition("error   : ")[2] for x in p.stderr.splitlines() if "error   : " in x]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("line", WRONG)
def test_refused_in_the_same_words(line: str, tmp_path: Path) -> None:
    found = ours(line)
    assert found and found == theirs(line, tmp_path)


@pytest.mark.parametrize("line", RIGHT)
def test_taken(line: str, tmp_path: Path) -> None:
    assert ours(line) == theirs(line, tmp_path) == []


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("line", "version", "arch"), OLD)
def test_orders_need_versions_and_targets(line: str, version: str, arch: str, tmp_path: Path) -> None:
    assert ours(line, version, arch) == theirs(line, tmp_path, version, arch)
