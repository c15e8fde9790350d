"""What the front end says of matrix instructions: texts of ptxas 13.0.88."""

import pytest

import orias
from orias.diag import CompileError

HEAD = """.version 8.7
.target sm_80
.address_size 64
.visible .entry k() {
.reg .b32 %r<40>;
"""


def regs(first: int, count: int) -> str:
    return "{" + ", ".join(f"%r{first + j}" for j in range(count)) + "}"


SP = f"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {regs(0, 4)}, {regs(4, 2)}, {regs(6, 2)}, {regs(8, 4)}, %r12, "
LOAD = "wmma.load.a.sync.aligned.row.m16n16k16.f16 "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (SP + "4;", "Argument 6 of instruction 'Sparse mma': value '4' out of range, expected to be in range [0..3]"),
        (SP + "%r1;", "Arguments mismatch for instruction 'mma'"),
        (LOAD + f"{regs(0, 4)}, [%r20];", "Argument vector size mismatch for instruction 'wmma.load.a'"),
        ("wmma.load.a.sync.aligned.m16n16k16.f16 " + f"{regs(0, 8)}, [%r20];", "layout modifier required for instruction 'wmma.load.a'"),
        (f"wmma.load.a.sync.aligned.row.m16n16k8.f16 {regs(0, 8)}, [%r20];", "Incorrect instruction type specified for wmma.load.a with shape '.m16n16k8'"),
        (f"wmma.load.a.sync.aligned.row.m16n16k16.local.f16 {regs(0, 8)}, [%r20];", "State space incorrect for instruction 'wmma.load.a'"),
        (f"wmma.load.b.sync.aligned.row.m8n8k32.s4 {regs(0, 1)}, [%r20];", "Illegal alayout '.row' for instruction 'wmma.load.b'"),
        (f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f16.f32 {regs(0, 8)}, {regs(8, 8)}, {regs(8, 8)}, {regs(0, 8)};",
         "Unexpected instruction types specified for 'wmma.mma'"),
        (f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {regs(0, 8)}, {regs(8, 8)}, {regs(8, 8)}, {regs(0, 8)};",
         "'.satfinite' is not supported starting from PTX ISA version 6.5"),
    ],
)  # fmt: skip
def test_refused(line: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        orias.compile(HEAD + line + "\nret; }\n", arch="sm_80")
    assert message in str(caught.value)


def test_every_selector() -> None:
    for selector in range(4):
        orias.compile(HEAD + SP + f"{selector};\nret; }}\n", arch="sm_80")
