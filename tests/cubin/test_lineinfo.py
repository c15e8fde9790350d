"""Line tables: the bytes ptxas writes for the same rows, and what nvdisasm reads out of them."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.debugline import ptx_text_section
from orias.cubin.elf import ElfFile
from orias.cubin.model import DebugSection, LineRow, SourceFile
from orias.cubin.reader import Reader
from orias.cubin.writer import write
from orias.output.line_rows import line_rows
from orias.ptx.ast import Loc
from tests.cubin.test_roundtrip import compile_ptx
from tests.nvtools import LIMIT_S, tool

PTX = """// comment line
.visible .entry k(.param .u64 p0)
{
	.reg .b64 %rd<10>;
	.reg .b32 %r<20>;
	.loc	1 10 5
	ld.param.u64 %rd1,[p0];
	.loc	1 11 7
	mov.u32 %r1,%tid.x; /* c1 */
	ld.global.u32 %r2,[%rd1];
	.loc	1 13 1
	mul.lo.u32 %r2,%r2,%r1;
	.loc	2 99 3
	st.global.u32 [%rd1],%r2;
	.loc	1 14 2
	ret;
}
	.file	1 "/src/dir/a.py"
	.file	2 "/src/dir/b.cu", 1700000000, 1234
"""

# (offset, file, line, PTX line) of ptxas's code
ROWS = {
    "sm_80": [(0, 1, 10, 6), (16, 1, 11, 13), (32, 1, 11, 6), (48, 1, 11, 13), (80, 1, 11, 12), (96, 1, 13, 15),
              (112, 2, 99, 17), (128, 1, 14, 19)],
    "sm_90": [(0, 1, 10, 6), (16, 1, 11, 13), (32, 1, 11, 6), (48, 1, 11, 13), (64, 1, 11, 12), (80, 1, 13, 15), (96, 2, 99, 17), (112, 1, 14, 19)],
}  # fmt: skip


@pytest.mark.parametrize("target", sorted(ROWS))
def test_bytes_of_ptxas(tmp_path: Path, target: str) -> None:
    data = compile_ptx(tmp_path, PTX, target, "-lineinfo")
    module = Reader(data).module
    module.lineinfo = True
    module.files = [SourceFile(1, "/src/dir/a.py"), SourceFile(2, "/src/dir/b.cu", 1700000000, 1234)]
    module.ptx_text = (tmp_path / "in.ptx").read_text()
    module.kernels[0].lines = [LineRow(at, file, line, 0, ptx) for at, file, line, ptx in ROWS[target]]
    got = write(module)
    want, ours = ElfFile(data), ElfFile(got)
    assert [s.name for s in ours.sections] == [s.name for s in want.sections]
    for s, t in zip(want.sections, ours.sections, strict=True):
        assert t.data == s.data, s.name


TEXT = """.visible .entry k(.param .u64 p0)
{
	.local .align 4 .b8 depot[8];
	.local.align 4 .b8 other[8];
/*
.locx
.lo
.loca
.localx
.b16 1
.b8x
.b32x
.b64
.file.
 .local foo
 /foo
 //foo
*/
.reg
.b16 %h;
.reg
.b32 %r;
	ret;
}
"""


def test_lines_that_the_copy_of_the_text_lacks(tmp_path: Path) -> None:
    """Lines are dropped by their first characters: declarations of local variables and 16-bit data stay."""
    data = compile_ptx(tmp_path, TEXT, "sm_80", "-lineinfo")
    want = next(s.data for s in ElfFile(data).sections if s.name == ".nv_debug_ptx_txt")
    kept = ptx_text_section((tmp_path / "in.ptx").read_text())
    assert kept == want
    assert b".local .align 4 .b8 depot[8];\0" in kept and b".b16 %h;\0" in kept and b".loca\0" not in kept


def test_nvdisasm_reads_rows(tmp_path: Path) -> None:
    data = compile_ptx(tmp_path, PTX, "sm_80")
    module = Reader(data).module
    module.lineinfo = True
    module.files = [SourceFile(7, "x.cu"), SourceFile(3, "/a/b/y.h")]
    rows = [LineRow(0, 3, 1, 0, 5), LineRow(16, 7, 4000, 0, 6), LineRow(32, 7, 2, 0, 7), LineRow(96, 7, 9, 0, 8)]
    inlined = LineRow(64, 3, 500, 0, 9)
    inlined.inlined_at = (7, 20, 1)
    inlined.function_offset = 2
    module.sections = [DebugSection(".debug_str", b"a\0name\0")]
    module.kernels[0].lines = [*rows[:3], inlined, rows[3]]
    (tmp_path / "l.cubin").write_bytes(write(module))
    listing = subprocess.run(
        [tool("nvdisasm"), "-c", "-gi", str(tmp_path / "l.cubin")],
        check=True,
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
    ).stdout
    found = [line.split("##")[1].strip() for line in listing.splitlines() if "//##" in line]
    assert found[:3] == ['File "/a/b/y.h", line 1', 'File "x.cu", line 4000', 'File "x.cu", line 2']

    assert found[3:] == [
        'File "/a/b/y.h", line 500 inlined at "x.cu", line 20',
        'File "x.cu", line 20',
        'File "x.cu", line 9',
    ]


NESTED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p0) { .reg .b64 %rd<4>; .reg .b32 %r<9>;
 .loc 1 20 5
 ld.param.u64 %rd1,[p0];
 ld.global.u32 %r1,[%rd1];
 .loc 1 21 7
 .loc 1 10 3, function_name $L1, inlined_at 1 21 7
 ld.global.u32 %r2,[%rd1+4];
 .loc 1 5 2, function_name $L2, inlined_at 1 10 3
 mul.lo.u32 %r3,%r2,%r1;
 .loc 1 6 2, function_name $L2, inlined_at 1 10 3
 st.global.u32 [%rd1+8],%r3;
 .loc 1 0 0
 st.global.u32 [%rd1+12],%r2;
 .loc 1 12 9, function_name $L1, inlined_at 1 21 7
 .loc 1 5 2, function_name $L2, inlined_at 1 12 9
 st.global.u32 [%rd1+16],%r1;
 .loc 1 30 2
 ret;
}
.file 1 "/src/a.cu"
.section .debug_str {
$L1: .b8 102
.b8 0
$L2: .b8 103
.b8 0
}
"""


def stacks(cubin: Path) -> set[tuple[str, ...]]:
    """The stacks of call sites that nvdisasm shows."""
    command = [tool("nvdisasm"), "-c", "-gi", str(cubin)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
    out: set[tuple[str, ...]] = set()
    now: list[str] = []
    for line in text.splitlines():
        if "//##" in line:
            now.append(line.split("//##")[1].strip())
        elif now:
            out.add(tuple(now))
            now = []
    return out


def test_nested_inlining_is_that_of_ptxas(tmp_path: Path) -> None:
    """Every instruction names all its call sites; line 0 has no row."""
    (tmp_path / "n.ptx").write_text(NESTED)
    command = [tool("ptxas"), "-arch=sm_80", "-lineinfo", "n.ptx", "-o", "theirs"]
    subprocess.run(command, cwd=tmp_path, timeout=LIMIT_S, check=True)
    (tmp_path / "ours").write_bytes(orias.compile(NESTED, arch="sm_80", lineinfo=True).data)
    found = stacks(tmp_path / "ours")
    assert found == stacks(tmp_path / "theirs")
    assert max(len(s) for s in found) == 3


def test_the_start_of_a_kernel_has_its_first_line_wherever_it_stands() -> None:
    """Line 0 stands for code of no PTX instruction: the stack pointer, which the scheduler moves."""
    lines, locs = [(0, 9), (16, 0), (32, 9), (48, 12)], {9: Loc(1, 30, 3), 12: Loc(1, 31, 3)}
    rows = line_rows(lines, locs, {}, Loc(1, 20, 0))
    assert [(r.offset, r.line) for r in rows] == [(0, 30), (16, 20), (32, 30), (48, 31)]
    rows = line_rows(lines, locs, {})
    assert [(r.offset, r.line) for r in rows] == [(0, 30), (48, 31)]
