"""With -g the subroutines of divisions and roots are functions with sections of their own, as in ptxas's files."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating

ARCHES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100a", "sm_110a", "sm_120a")
OPERATIONS = (
    *(f"{name}.{t}" for name in ("div", "rem") for t in ("u16", "s16", "u64", "s64", "u32")),
    *(f"{name}.{r}{ftz}.f32" for name in ("div", "rcp", "sqrt") for r in ("rn", "rz", "rm", "rp") for ftz in ("", ".ftz")),
    *(f"{name}.{r}.f64" for name in ("div", "rcp", "sqrt") for r in ("rn", "rz", "rm", "rp")),
    "rsqrt.approx.f64",
    "div.full.f32",
)  # fmt: skip
HEAD = ".version 9.0\n.target {}\n.address_size 64\n"
THREADS = 64


def kernel(operation: str, constant: str = "") -> str:
    """A kernel that has a thread's results of an operation, with a constant as the last operand if one is given."""
    t = operation.rpartition(".")[2]
    two = operation.startswith(("div", "rem"))
    bits = int(t[1:])
    memory = t if t[0] == "f" else f"b{bits}"
    operands = ["%x0", "%x1", *(["%x2"] if two else [])]
    if constant:
        operands[-1] = constant
    return f"""
.visible .entry k(.param .u64 out, .param .u64 in)
{{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .{memory} %x<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd1, %r1, {bits // 8}, %rd1;
    mad.wide.u32 %rd2, %r1, {bits // 4}, %rd2;
    ld.global.{memory} %x1, [%rd2];
    ld.global.{memory} %x2, [%rd2+{bits // 8}];
    {operation} {", ".join(operands)};
    st.global.{memory} [%rd1], %x0;
    ret;
}}
"""


ORDER = """
.func (.reg .b64 %r0) late (.reg .b64 %a);
.func (.reg .b64 %r0) later (.reg .b64 %a);
.visible .func (.reg .b64 %r0) early (.reg .b64 %a)
{
    .reg .b64 %x<3>;
    rem.u64 %x1, %a, 77;
    div.s64 %x2, %x1, %a;
    mov.b64 %r0, %x2;
    ret;
}
.visible .entry k1(.param .u64 out)
{
    .reg .b64 %rd<4>;
    .shared .align 8 .b64 sh;
    ld.param.u64 %rd1, [out];
    call (%rd2), later, (%rd1);
    call (%rd2), late, (%rd2);
    div.u64 %rd3, %rd2, %rd1;
    div.s64 %rd3, %rd3, %rd2;
    st.shared.u64 [sh], %rd3;
    ret;
}
.visible .entry k0(.param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [out];
    div.u64 %rd2, %rd1, 3;
    call (%rd2), early, (%rd2);
    ld.global.f32 %f1, [%rd2];
    rcp.rn.ftz.f32 %f2, %f1;
    div.rz.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
.func (.reg .b64 %r0) later (.reg .b64 %a)
{
    rem.s64 %r0, %a, %a;
    ret;
}
.func (.reg .b64 %r0) late (.reg .b64 %a)
{
    .reg .f64 %d<3>;
    cvt.rn.f64.u64 %d1, %a;
    sqrt.rn.f64 %d2, %d1;
    cvt.rzi.u64.f64 %r0, %d2;
    ret;
}
"""


def described(cubin: bytes) -> list[str]:
    """Sections and symbols in their order; capsules are another matter."""
    elf = ElfFile(cubin)
    out = [s.name for s in elf.sections]
    for y in elf.symbols:
        place = elf.sections[y.section].name if 0 < y.section < len(elf.sections) else ""
        out.append(f"{y.name} bind {y.bind} type {y.type} in {place}")
    return [name for name in out if "merc" not in name]


def theirs(text: str, arch: str, folder: Path) -> bytes:
    (folder / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-g", f"-arch={arch}", str(folder / "k.ptx"), "-o", str(folder / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    return (folder / "k.cubin").read_bytes()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("operation", rotating(OPERATIONS, 8, "subroutines with sections"))
def test_sections_and_symbols(operation: str, tmp_path: Path) -> None:
    arch = rotating(ARCHES, 1, operation)[0]
    text = HEAD.format(arch) + kernel(operation)
    ours = orias.compile(text, arch=arch, debug=True, capsules="forbid").data
    assert described(ours) == described(theirs(text, arch, tmp_path))


@pytest.mark.parametrize("arch", rotating(ARCHES, 2, "order of subroutines"))
def test_order(arch: str, tmp_path: Path) -> None:
    text = HEAD.format(arch) + ORDER
    ours = orias.compile(text, arch=arch, debug=True, capsules="forbid").data
    assert described(ours) == described(theirs(text, arch, tmp_path))


def results(cubin: bytes, operation: str) -> list[int]:
    """What the kernel computes from bit patterns of every kind."""
    size = int(operation[-2:]) // 8
    dtype = f"u{size}"
    values = np.random.default_rng(7).integers(0, 1 << 8 * size, 2 * THREADS, np.dtype(dtype))
    values[:8] = 0, 1, 1, 0, 7, 3, (1 << 8 * size) - 1, 1 << (8 * size - 1)
    # Subnormal numbers and small divisors take the subroutines.
    values[16:64] >>= 9 if size > 2 else 4
    values[64:80] >>= 8 * size // 2
    out = np.zeros(THREADS, dtype)
    sim.load(cubin).launch("k", 1, THREADS, [out, values])
    return [int(v) for v in out]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("operation", rotating(OPERATIONS, 8, "results of subroutines"))
def test_results(operation: str) -> None:
    """With -g, with a constant too, what optimised code computes."""
    arch = rotating(ARCHES, 1, operation + " runs")[0]
    constants = [""]
    if operation.startswith(("div", "rem")):
        constants += (
            ["7", "8"] if operation[-3] in "us" else ["0f40000000" if "f32" in operation else "0d4008000000000000"]
        )
    for constant in constants:
        text = HEAD.format(arch) + kernel(operation, constant)
        plain = orias.compile(text, arch=arch)
        debug = orias.compile(text, arch=arch, debug=True)
        assert results(debug.data, operation) == results(plain.data, operation), constant


def test_objects_have_none() -> None:
    """A linker would take another compiler's subroutine of this name, which has other conventions."""
    text = HEAD.format("sm_80") + kernel("div.u64")
    ours = orias.compile(text, arch="sm_80", debug=True, compile_only=True).data
    assert ".text.__cuda_sm20_div_u64" not in [s.name for s in ElfFile(ours).sections]
