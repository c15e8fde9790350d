"""Kinds of operands: vectors, registers of matrices, textures and addresses, with ptxas's first message for each that it refuses."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.diag import CompileError
from tests.nvtools import LIMIT_S, find

TYPES = ["pred", "b16", "u16", "s16", "f16", "f16x2", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"]
MIXED = "Vector with elements of different types are not allowed in {} instruction"
SIZES = "Incompatible elements of vector expression"
NO_MATCH = "Arguments mismatch for instruction '{}'"
MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {}, {}, {{%b32_7}}, {{%f32_0, %f32_1, %f32_2, %f32_3}};"
D, A = "{%f32_0, %f32_1, %f32_2, %f32_3}", "{%b32_0, %b32_1}"
LD = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {}, [%b32_8];"
ST = "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%b32_8], {};"
TEX = "tex.2d.v4.f32.f32 {}, [{}, {}];"
LEVEL = "tex.level.2d.v4.f32.{} {{%f32_0, %f32_1, %f32_2, %f32_3}}, [%u64_1, {}], {};"
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b32_1], [%b64_1], {};"
IM2COL = "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%b32_1], [%b64_2, {{%b32_1, %b32_2, %b32_3}}], [%b32_2], {};"
REPLACE = "tensormap.replace.tile.{}.global.b1024.b{} [%b64_1], {};"
REFUSED = [
    (ST.format("{%pred_0, %f32_1}"), MIXED.format("stmatrix")),
    (BULK.format("16, %b32_1"), NO_MATCH.format("cp.async.bulk")),
    (BULK.format("16, 1.5"), NO_MATCH.format("cp.async.bulk")),
    ("cvt.pack.sat.s8.s32.b32 %f64_1, %b32_2, %b32_3, %b32_4;", NO_MATCH.format("cvt.pack")),
    ("cvt.pack.sat.s8.s32.b32 %b32_1, %f64_2, %b32_3, %b32_4;", NO_MATCH.format("cvt.pack")),
    ("txq.level.width.b32 %b32_1, [%u64_1], {%f32_2};", NO_MATCH.format("txq.level")),
    ("ex2.approx.ftz.bf16x2 %b32_1, {%b32_2};", "Illegal vector-vector operands for vector-scalar or scalar-vector mov instruction"),
    ("add.f16 %b16_1, {%b16_2}, %b16_3;", "Vector operand is not allowed for instruction 'add'"),
    (IM2COL.format("{%b32_1}"), NO_MATCH.format("cp.async.bulk.tensor")),
    (IM2COL.format("{%f16_1}"), NO_MATCH.format("cp.async.bulk.tensor")),
    (IM2COL.format("{%tid.x}"), NO_MATCH.format("cp.async.bulk.tensor")),
    (IM2COL.format("{1.5}"), NO_MATCH.format("cp.async.bulk.tensor")),
    (IM2COL.format("%pred_1"), NO_MATCH.format("cp.async.bulk.tensor")),
    (IM2COL.format("%b16_1"), "Vector expected for argument 4"),
    (IM2COL.format("5"), "Vector expected for argument 4"),
    (IM2COL.format("{%b16_1, %b16_2}"), "Argument 4 of instruction 'cp.async.bulk.tensor': Argument vector size mismatch"),
    ("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%b64_2, {%b32_1, %b32_2, %b32_3}], {%b64_1};", NO_MATCH.format("cp.async.bulk.prefetch.tensor")),
    ("tex.2d.v4.f32.u32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%u64_1, {%u32_4, %u32_5}];", "Integer coordinates require .s32 instruction type"),
    ("tex.level.cube.v4.f32.s32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%u64_1, {%s32_4, %s32_5, %s32_6, %s32_6}], %s32_1;", "Floating-point coordinates required"),
    ("tex.1d.v4.f16x2.f32 {%b32_0, %b32_1, %b32_2, %b32_3}, [%u64_1, {%f32_4}];", "Instruction 'tex.f16x2' requires .v2 type"),
    ("tex.1d.f16x2.f32 %b32_0, [%u64_1, {%f32_4}];", "Instruction 'tex.f16x2' requires .v2 type"),
    ("tex.2dms.v4.f32.f32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%u64_1, {%f32_4, %f32_5, %f32_5, %f32_5}];", "Integer coordinates require .s32 instruction type"),
    ("tex.level.2dms.v4.f32.s32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%u64_1, {%s32_4, %s32_5, %s32_5, %s32_5}], %s32_1;", "Illegal modifier 'Multi-sample geometry' for instruction 'tex.level'"),
    (LEVEL.format("f32", "{%f32_4, %f32_5}", "[%b32_1]"), "Argument 3 of instruction 'tex.level': must be register"),
    (LEVEL.format("f32", "{%f32_4, %f32_5}", "[%s32_1]"), NO_MATCH.format("tex.level")),
    ("bar.sync %s32_1|%pred_1;", "Predicate output not allowed for instruction 'bar'"),
    ("stackrestore.u64 64;", "Result register required for instruction 'stackrestore'"),
    ("pmevent.mask -1;", "Argument -1 of instruction '(null)': value '65535' out of range, expected to be in range [2..3]"),
    ("pmevent.mask 0x10000;", "Argument 65536 of instruction '(null)': value '65535' out of range, expected to be in range [2..3]"),
    ("div.ftz _, %u64_2, %u64_3;", "Unexpected instruction types specified for 'div'"),
    ("tensormap.replace.tile.rank.global.b32 [%b64_1], 3;", "Tensormap size modifier required for instruction 'tensormap.replace'"),
    (REPLACE.format("rank", 32, "gv"), "Argument 1 of instruction 'tensormap.replace': must be register"),
    (REPLACE.format("box_dim", 32, "0, gv"), "Argument 2 of instruction 'tensormap.replace': must be register"),
    (REPLACE.format("rank", 32, "%tid.x"), "Special register argument not allowed for instruction 'tensormap.replace'"),
    (REPLACE.format("rank", 32, "1.5"), NO_MATCH.format("tensormap.replace")),
    (REPLACE.format("global_address", 64, "{%b64_1}"), "Vector operand is not allowed for instruction 'tensormap.replace'"),
    ("st.shared.v2.b32 [%b64_8], {%s32_1, %f32_2};", MIXED.format("st")),
    ("ld.shared.v2.b64 {%u64_1, %f64_2}, [%b64_8];", MIXED.format("ld")),
    ("mov.b64 %b64_1, {%f16x2_1, %u32_2};", MIXED.format("mov")),
    (MMA.format(D, "{%b32_0, %u64_1}"), SIZES),
    (MMA.format(D, "{%f16x2_0, %u32_1}"), MIXED.format("mma")),
    (MMA.format(D, "{%f32_0, %f32_1}"), NO_MATCH.format("mma")),
    (MMA.format("{%u32_0, %u32_1, %u32_2, %u32_3}", A), NO_MATCH.format("mma")),
    (LD.format("{%b32_0, %b16_1}"), SIZES),
    (LD.format("{%b64_0, %b64_1}"), NO_MATCH.format("ldmatrix")),
    (LD.format("%b32_0"), "Vector of size 2 is expected for argument 0 of instruction 'ldmatrix'"),
    (ST.format("{%b32_0}"), "Vector of size 2 is expected for argument 1 of instruction 'stmatrix'"),
    (ST.format("0"), NO_MATCH.format("stmatrix")),
    (ST.format("{_, %b32_1}"), "Sink '_' not allowed as a source operand"),
    (TEX.format(D, "%b32_1", "{%f32_4, %f32_5}"), NO_MATCH.format("tex")),
    (TEX.format(D, "%f64_1", "{%f32_4, %f32_5}"), NO_MATCH.format("tex")),
    ("tex.1d.v4.f32.s32 {%f32_0, %f32_1, %f32_2, %f32_3};", NO_MATCH.format("tex")),
    ("tex.2d.v4.f32.s32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%b64_1, {%f32_4, %f32_5}];", NO_MATCH.format("tex")),
    (TEX.format(D, "%u64_1", "{%f32_4, %f32_5}")[:-1] + ", gv;", NO_MATCH.format("tex")),
    (TEX.format(D, "%u64_1", "{%f32_4, %f32_5}")[:-1] + ", fn;", NO_MATCH.format("tex")),
    (LEVEL.format("f32", "{%f32_4, %f32_5}", "gv"), "Argument 3 of instruction 'tex.level': must be register"),
    (LEVEL.format("s32", "{%s32_4, %s32_5}", "{%f32_0}"), NO_MATCH.format("tex.level")),
    (LEVEL.format("s32", "{%s32_4, %s32_5}", "%s32_1, fn"), NO_MATCH.format("tex.level")),
    ("txq.width.b32 %b32_0, [%b32_1];", NO_MATCH.format("txq")),
    ("suld.b.1d.b32.trap %b32_0, [%u64_1, {%f32_1}];", NO_MATCH.format("suld.b")),
    ("add.s32 %s32_1, %s32_2.x, 1;", "Unknown video selector: '.x'"),
    ("add.s64 %s64_1, %s64_2.x, 1;", "Unknown field '.x'"),
    ("st.global.u32 [%b32_1], 1;", " 32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures."),
    ("mbarrier.init.b64 [%u32_1], 1;", " 32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures."),
]  # fmt: skip
ACCEPTED = [
    "st.shared.v2.b32 [%b64_8], {%s32_1, %b32_2};",
    "mov.b64 %b64_1, {%f16x2_1, %b32_2};",
    MMA.format(D, "{%f16x2_0, %b32_1}"),
    MMA.format(D, "{%b32_0, 1}"),
    LD.format("{%f32_0, %b32_1}"),
    TEX.format("{%u32_0, %u32_1, %u32_2, %u32_3}", "%s64_1", "{%b32_4, %f32_5}"),
    LEVEL.format("s32", "{%s32_4, %s32_5}", "{%s32_0}"),
    "vmin.u32.s32.s32 %u32_1, %s32_2, fn;",
    "ld.shared.u32 %u32_1, [%u32_2];",
    "ld.local.u32 %u32_1, [%b32_2];",
    ST.format("{%pred_0, %b32_1}"),
    ST.format("{%tid.x, %b32_1}"),
    BULK.format("16, 64"),
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%b32_1], [%b32_2], 16, -64;",
    "cvt.pack.sat.s8.s32.b32 %b64_1, %u64_2, %b128_3, %f64_4;",
    "cvt.pack.sat.s16.s32 %s64_1, %s32_2, %b64_2;",
    "txq.level.width.b32 %b32_1, [%u64_1], {%s32_2};",
    "txq.level.width.b32 %b32_1, [%u64_1], {%tid.x};",
    "txq.level.width.b32 %b32_1, [%u64_1], {5};",
    "ex2.approx.ftz.bf16 {%b16_1}, {%b16_2};",
    "cvt.rn.bf16x2.f32 {%b32_1}, %f32_1, %f32_2;",
    "setp.lt.bf16 %pred_1, {%b16_1}, %b16_2;",
    "membar.proxy.alias.finite;",
    IM2COL.format("{%s16_1}"),
    IM2COL.format("{7}"),
    "pmevent.mask 65535;",
    "fence.proxy.alias.finite;",
    REPLACE.format("rank", 32, "%f32_1"),
    REPLACE.format("rank", 32, "gv+4"),
    REPLACE.format("box_dim", 32, "0, %b32_1+4"),
]


def program(line: str) -> str:
    registers = "".join(f".reg .{t} %{t}_<9>;\n" for t in TYPES)
    return f".version 8.7\n.target sm_90a\n.address_size 64\n.global .b8 gv[16];\n.func fn {{ ret; }}\n.visible .entry k()\n{{\n{registers}{line}\nret;\n}}\n"


def theirs(line: str, folder: Path) -> str | None:
    """ptxas's first error message; "" if it accepts the line, None without ptxas."""
    tool = find("ptxas")
    if tool is None:
        return None
    (folder / "k.ptx").write_text(program(line))
    command = [tool, "-arch", "sm_90a", "-O0", "k.ptx", "-o", "k.cubin"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    said = [x for x in run.stderr.splitlines() if "error" in x or "fatal" in x]
    return said[0].partition("error   : ")[2] or said[0].partition("fatal   : ")[2] if run.returncode else ""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_refused(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        orias.compile(program(line), arch="sm_90a")
    first = next(d for d in caught.value.diagnostics if d.severity in ("error", "fatal"))
    assert first.message == message
    assert theirs(line, tmp_path) in (message, None)


def test_activemask_of_old_targets() -> None:
    text = ".version 6.2\n.target sm_20\n.address_size 64\n.visible .entry k()\n{.reg .b32 %r;\nactivemask.b32 %r;\nret; }\n"
    with pytest.raises(CompileError) as caught:
        orias.compile(text, arch="sm_80")
    assert caught.value.diagnostics[0].message == "Feature 'activemask' requires .target sm_30 or higher"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted(line: str, tmp_path: Path) -> None:
    orias.compile(program(line), arch="sm_90a")
    assert theirs(line, tmp_path) in ("", None)
