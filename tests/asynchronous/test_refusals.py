"""Refused forms of asynchronous, multimem and matrix-load instructions: the first message is ptxas's."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias import sim
from tests.asynchronous.copy_programs import issued
from tests.asynchronous.harness import Program
from tests.device import tensormap
from tests.nvtools import LIMIT_S, tool

HIGHER = "Feature 'st.async/red.async with .{} requires .target sm_100 or higher"
COMPLETION = "Modifier '.shared::cluster' requires modifier '.completion_mechanism' for instruction '{}'"
TYPE = "Incorrect type '.{}' for operation '.{}' in instruction 'multimem.{}'"
CASES = [
    ("sm_90a", "st.async.shared::cluster.u32 [%r1], %r1;", COMPLETION.format("st.async")),
    ("sm_90a", "st.async.release.gpu.global.u32 [%rd1], %r1;", HIGHER.format("global state space'")),
    ("sm_90a", "red.async.mmio.release.sys.global.add.u32 [%rd1], %r1;", HIGHER.format("mmio modifier'")),
    ("sm_80", "cp.async.ca.shared.global [%r1], [%rd1], %r1;", "Arguments mismatch for instruction 'cp.async'"),
    ("sm_80", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r1}, [%r1];", "Feature '.m8n16' not supported on .target 'sm_80'"),
    ("sm_90", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r1];", "Feature '.m16n16' not supported on .target 'sm_90'"),
    (
        "sm_90a",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, %r2, %r1}], [%r2], {%h1, %h2};",
        "Feature '.im2col::w::128' not supported on .target 'sm_90a'",
    ),
    (
        "sm_90a",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, %r2, %r1}], [%r2];",
        "Arguments mismatch for instruction 'cp.async.bulk.tensor'",
    ),
    ("sm_90a", "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 1;", "Instruction 'tensormap.replace.swizzle_atomicity' not supported on .target 'sm_90a'"),
    ("sm_90a", "tensormap.replace.im2col.rank.global.b1024.b32 [%rd1], 2;", "Illegal modifier '.tile' for instruction 'tensormap.replace'"),
    ("sm_80", "multimem.st.u32 [%rd1], %r1;", "Feature 'multimem.st' requires .target sm_90 or higher"),
    ("sm_90", "multimem.ld_reduce.and.u32 %r2, [%rd1];", TYPE.format("u32", "and", "ld_reduce")),
    ("sm_90", "multimem.red.max.bf16x2 [%rd1], %r1;", TYPE.format("bf16x2", "max", "red")),
    ("sm_90", "multimem.red.add.s64 [%rd1], %rd1;", TYPE.format("s64", "add", "red")),
    ("sm_90", "multimem.st.f16 [%rd1], %h1;", "Unexpected instruction types specified for 'multimem.st'"),
    ("sm_90", "multimem.st.v2.u32 [%rd1], {%r1, %r2};", "Vector qualifier is not allowed for instruction 'multimem.st'"),
    ("sm_90", "multimem.red.add.v2.f64 [%rd1], {%rd1, %rd1};", "Inconsistent type '.f64' with vector .v2 for 'multimem.red'"),
    ("sm_90", "multimem.ld_reduce.max.acc::f32.v2.f16x2 {%r1, %r2}, [%rd1];", "Illegal reduction operation for instruction 'multimem.ld_reduce.acc::f32'"),
    ("sm_90", "multimem.ld_reduce.add.acc::f32.u32 %r2, [%rd1];", "Illegal modifier '.acc::f32' for instruction 'multimem.ld_reduce' with type '.u32'"),
    ("sm_90", "multimem.st.relaxed.u32 [%rd1], %r1;", "Modifier '.relaxed' requires scope with 'multimem.st' instruction"),
    ("sm_90", "multimem.red.gpu.add.u32 [%rd1], %r1;", "Modifier '.gpu' requires order with 'multimem.red' instruction"),
    ("sm_90", "multimem.st.weak.gpu.u32 [%rd1], %r1;", "Modifier '.weak' cannot be combined with modifier '.gpu'"),
]  # fmt: skip


def module(arch: str, line: str) -> str:
    return (
        f".version 8.8\n.target {arch}\n.address_size 64\n.visible .entry k() {{\n"
        f".reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n{line}\nret; }}\n"
    )


@pytest.mark.parametrize(("arch", "line", "text"), CASES, ids=[line.split(" ")[0] for _, line, _ in CASES])
def test_ours(arch: str, line: str, text: str) -> None:
    with pytest.raises(orias.CompileError) as e:
        orias.compile(module(arch, line), arch=arch)
    assert e.value.diagnostics[0].message == text


@pytest.mark.sweep
def test_theirs(tmp_path: Path) -> None:
    for arch, line, text in CASES:
        (tmp_path / "k.ptx").write_text(module(arch, line))
        command = [tool("ptxas"), f"-arch={arch}", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
        said = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S).stderr
        assert text in said.splitlines()[0], line


def test_store_without_object_is_a_store() -> None:
    """st.async.u32 without an mbarrier: ptxas 13.0.88 takes it and stores nothing; its page has no such form."""
    text = module("sm_90a", "st.async.u32 [%rd1], %r1;")
    assert re.search(r"\bST\.E\S* desc", orias.compile(text).disassemble())


@pytest.mark.parametrize(("layout", "arch"), [(1, "sm_90a"), (2, "sm_100a"), (1, "sm_120a")])
def test_interleaved_maps(layout: int, arch: str) -> None:
    """The simulator refuses them by name: the distance between slices of channels is not known."""

    def interleaved(at: int) -> bytes:
        return tensormap("f16", at, (8, 4, 4), (16, 64), (8, 2, 2), interleave=layout)

    done = "mbarrier::complete_tx::bytes"
    line = f"cp.async.bulk.tensor.3d.shared::cluster.global.tile.{done} [smem], [%tm, {{0, 0, 0}}], [mb];"
    p = Program("interleaved", issued(line, 64), lambda s: [], map_=interleaved)
    with pytest.raises(sim.SimError, match=rf"with an interleaved map \(layout {layout}\)"):
        p.run("orias", arch, 3)
