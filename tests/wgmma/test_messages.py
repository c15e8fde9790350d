"""What is said of malformed wgmma, in ptxas's words (asked of 13.0.88)."""

import pytest

from orias.diag import CompileError
from orias.ptx.parser import parse

D4, R4, R2 = "{%f0,%f1,%f2,%f3}", "{%r0,%r1,%r2,%r3}", "{%r0,%r1}"
M = "wgmma.mma_async.sync.aligned"
SP = "wgmma.mma_async.sp.sync.aligned"
FP, SFP = "wgmma.mma_async with floating point types", "Sparse wgmma.mma_async with floating point types"
MISMATCH = "Arguments mismatch for instruction 'wgmma.mma_async'"
TYPES = "Unexpected instruction types specified for 'wgmma.mma_async'"
OPS = "Unexpected number of operations specified for wgmma.mma_async with boolean type with shape '.m64n8k256'"

CASES: list[tuple[str, list[str]]] = [
    (f"wgmma.mma_async.sync.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0", []),
    (f"wgmma.mma_async.aligned.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0",
     [".sync modifier required for instruction 'wgmma.mma_async'"]),
    (f"{M}.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0", ["Shape modifier required for instruction 'wgmma.mma_async'"]),
    (f"{M}.m64n9k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0",
     ["Unknown modifier '.m64n9k16'", "Shape modifier required for instruction 'wgmma.mma_async'"]),
    (f"{M}.m64n8k32.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0", [f"Illegal matrix shape '.m64n8k32' for instruction '{FP}'"]),
    (f"{M}.m64n8k16.f16.bf16.bf16 {R2},%rd1,%rd2,1,1,1,0,0", [TYPES]),
    (f"{M}.m64n8k16.f32.f16.f16.f32 {D4},%rd1,%rd2,1,1,1,0,0", [TYPES]),
    (f"{M}.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0", [MISMATCH]),
    (f"{M}.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,2,1,1,0,0",
     [f"Argument 3 of instruction '{FP}': unexpected value '2', expected to be 0 or 1"]),
    (f"{M}.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,0,1,0,0",
     [f"Argument 4 of instruction '{FP}': unexpected value '0', expected to be -1 or 1"]),
    (f"{M}.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,-1",
     [f"Argument 7 of instruction '{FP}': unexpected value '-1', expected to be 0 or 1"]),
    (f"{M}.m64n8k16.f32.f16.f16 {D4},%r1,%rd2,1,1,1,0,0", [MISMATCH]),
    (f"{M}.m64n8k16.f32.f16.f16 {R4},%rd1,%rd2,1,1,1,0,0", []),
    (f"{M}.m64n16k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0", [f"Argument vector size mismatch for instruction '{FP}'"]),
    (f"{M}.m64n8k16.f32.f16.f16 %f0,%rd1,%rd2,1,1,1,0,0", ["Vector expected for argument 0"]),
    (f"{M}.m64n8k16.f32.f16.f16 {{_,%f1,%f2,%f3}},%rd1,%rd2,1,1,1,0,0", ["Sink '_' not allowed as a source operand"]),
    (f"{M}.m64n8k16.f32.f16.f16 {D4},{{%r1,%r2}},%rd2,1,1,1,0",
     [f"Arguments mismatch for instruction '{FP}'", f"Argument vector size mismatch for instruction '{FP}'"]),
    (f"{M}.m64n8k32.satfinite.s32.s8.s8 {R4},%rd1,%rd2,1", []),
    (f"{M}.satfinite.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0",
     [f"Illegal modifier '.satfinite' for instruction '{FP}'", "Illegal modifier '.satfinite' for instruction 'wgmma.mma_async'"]),
    (f"{M}.m64n8k256.s32.b1.b1 {R4},%rd1,%rd2,1", [OPS, "Boolean operation is required for instruction 'wgmma.mma_async'"]),
    (f"{M}.m64n8k256.s32.b1.b1.and {R4},%rd1,%rd2,1", [OPS]),
    (f"{M}.m64n8k256.s32.b1.b1.xor.popc {R4},%rd1,%rd2,1",
     ["Incorrect operations specified for wgmma.mma_async with boolean type with shape '.m64n8k256'"]),
    (f"{SP}.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,%r1,0,1,1,1,0,0",
     [f"Illegal instruction types specified for '{SFP}' with shape '.m64n8k16'"]),
    (f"{SP}.m64n8k32.f32.f16.f16 {D4},%rd1,%rd2,%r1,2,1,1,1,0,0",
     [f"Argument 4 of instruction '{SFP}': unexpected value '2', expected to be 0 or 1"]),
    (f"{SP}.m64n8k32.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0",
     ["Illegal modifier '.sp' for instruction 'wgmma.mma_async'", f"Arguments mismatch for instruction '{SFP}'"]),
    (f"{SP}.m64n8k64.s32.s8.u8 {R4},%rd1,%rd2,%r1,1,1",
     ["Argument 4 of instruction 'Sparse wgmma.mma_async with mixed integer types': unexpected value '1', expected to be 0"]),
    ("wgmma.fence.aligned", [".sync modifier required for instruction 'wgmma.fence'"]),
    ("wgmma.wait_group.sync.aligned -1",
     ["Argument 0 of instruction 'wgmma.wait_group': unexpected value '-1', expected to be non-negative integer"]),
    ("wgmma.wait_group.sync.aligned 100", []),
]  # fmt: skip


def messages(line: str, version: str = "8.5", target: str = "sm_90a") -> list[str]:
    text = f""".version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 out) {{
.reg .f32 %f<16>; .reg .b64 %rd<8>; .reg .b32 %r<32>; .reg .pred %p<4>;
{line};
ret; }}
"""
    try:
        parse(text, "k.ptx")
    except CompileError as e:
        return [d.message for d in e.diagnostics]
    return []


@pytest.mark.parametrize(("line", "want"), CASES)
def test_line(line: str, want: list[str]) -> None:
    assert messages(line) == want


def test_gates() -> None:
    line = f"{M}.m64n8k16.f32.f16.f16 {D4},%rd1,%rd2,1,1,1,0,0"
    assert messages(line, "7.8", "sm_90") == [
        "Feature 'WGMMA with floating point types' requires PTX ISA .version 8.0 or later",
        f"Instruction '{FP}' not supported on .target 'sm_90'",
    ]
    assert messages("wgmma.fence.sync.aligned", "8.0", "sm_80") == [
        "Instruction 'wgmma.fence' not supported on .target 'sm_80'"
    ]
    line = f"{SP}.m64n8k32.f32.f16.f16 {D4},%rd1,%rd2,%r1,0,1,1,1,0,0"
    assert messages(line, "8.0") == [
        "Feature 'Sparse WGMMA with floating point types' requires PTX ISA .version 8.2 or later"
    ]
