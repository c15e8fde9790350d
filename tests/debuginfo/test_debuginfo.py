"""-g: functions with sections of their own, debug sections, register tables; ours compared with ptxas's.

The PTX files are CUDA C++ of our own through nvcc 13.0 -G (`calls`, `frame`) and by hand (`types`).
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim as sim
from orias.cubin.elf import ElfFile
from orias.cubin.lineread import line_tables
from orias.isa.operand import payload
from orias.output.line_rows import line_rows
from orias.ptx.ast import Loc
from orias.ptx.parser import parse
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating

PTX = Path(__file__).parent / "ptx"
ARCHES = ("sm_80", "sm_90")


def text_of(name: str) -> str:
    return (PTX / f"{name}.ptx").read_text()


def ours(name: str, arch: str, **options: object) -> bytes:
    return orias.compile(text_of(name), arch=arch, self_check=True, **options).data  # type: ignore[arg-type]


def theirs(name: str, arch: str, directory: Path, *options: str) -> bytes:
    out = directory / "k.cubin"
    subprocess.run(
        [tool("ptxas"), *options, f"-arch={arch}", str(PTX / f"{name}.ptx"), "-o", str(out)],
        check=True,
        timeout=LIMIT_S,
    )
    return out.read_bytes()


def data_of(cubin: bytes, section: str) -> bytes:
    return next(bytes(s.data) for s in ElfFile(cubin).sections if s.name == section)


def tables(cubin: bytes) -> dict[str, list[tuple[str, int, int, int, int, int]]]:
    """For each function: name, word, register with its class, first and last offset, type."""
    data, types = data_of(cubin, ".nv_debug_info_reg_sass"), data_of(cubin, ".nv_debug_info_reg_type")
    out: dict[str, list[tuple[str, int, int, int, int, int]]] = {}
    at = type_at = 0

    def number(d: bytes, i: int) -> int:
        return int.from_bytes(d[i : i + 4], "little")

    while at < len(data):
        end = data.index(0, at)
        name, count = data[at:end].decode(), number(data, end + 1)
        assert types[type_at : type_at + end - at + 5] == data[at : end + 5]
        at, type_at = end + 5, type_at + end - at + 5
        rows = []
        for k in range(count):
            word = number(data, at)
            end = data.index(0, at + 4)
            register = data[at + 4 : end].decode()
            rows.append((register, word, *(number(data, end + 1 + 4 * j) for j in range(3)), types[type_at + k]))
            at = end + 13
        type_at += count
        out[name] = rows
    assert type_at == len(types)
    return out


def run_calls(cubin: bytes) -> list[object]:
    image = sim.load(cubin)
    out: list[object] = []
    for case in range(6):
        a = np.arange(40, dtype=np.int32)
        a[0] = case
        printed = image.launch("_Z2k2Pi", 1, 32, [a]).output
        b = np.arange(40, dtype=np.int32)
        b[1], b[3] = case & 1, case >> 1
        printed += image.launch("_Z2k1Pif", 1, 32, [b, 1e-40 if case == 3 else 3.0]).output
        out.append((a.tolist(), b.tolist(), printed))
    return out


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", ARCHES)
def test_code_with_functions_apart_runs(arch: str, tmp_path: Path) -> None:
    """Direct calls, calls through pointers in registers and in data, printf, shared memory of functions, slow paths."""
    got = run_calls(ours("calls", arch, debug=True))
    assert got == run_calls(theirs("calls", arch, tmp_path, "-g"))
    optimised = text_of("calls").replace(", debug", "")
    assert got == run_calls(orias.compile(optimised, arch=arch).data)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", ["calls", "frame", "generator", "types"])
def test_sections_say_what_those_of_ptxas_say(name: str, arch: str, tmp_path: Path) -> None:
    """All bytes are ptxas's but code addresses; relocations are against the same symbols."""
    mine, other = ours(name, arch), theirs(name, arch, tmp_path)
    a, b = ElfFile(mine), ElfFile(other)
    wanted = [s.name for s in b.sections if "debug" in s.name and not s.name.startswith(".rel")]
    assert [s.name for s in a.sections if "debug" in s.name and not s.name.startswith(".rel")] == wanted
    module = parse(text_of(name), name)
    code = {lab.name for f in module.functions for lab in f.labels}
    for source in (s for s in module.sections if s.items):
        x, y = data_of(mine, source.name), data_of(other, source.name)
        targets = []
        for elf in (a, b):
            section = next(s for s in elf.sections if s.name == source.name)
            targets.append({r.offset: (r.type, elf.symbols[r.symbol].name) for r in elf.relocations(section)})
        assert targets[0] == targets[1]
        at = 0
        for size, value in source.items:
            if isinstance(value, int) or value[0] not in code:
                assert x[at : at + size] == y[at : at + size], (source.name, at, value)
            at += size
        assert len(x) == len(y) == at


@pytest.mark.parametrize("arch", ARCHES)
def test_labels_begin_and_end_functions(arch: str) -> None:
    cubin = ours("frame", arch)
    elf = ElfFile(cubin)
    sizes = {s.name: s.size for s in elf.symbols if s.type == 2}
    section = next(s for s in elf.sections if s.name == ".debug_info")
    at = 0
    places = {}
    for size, value in next(s for s in parse(text_of("frame"), "f").sections if s.name == ".debug_info").items:
        if not isinstance(value, int):
            places[value[0]] = int.from_bytes(section.data[at : at + size], "little")
        at += size
    for k, name in enumerate(("_Z1f1Pi", "_Z1kPfPKii")):
        assert places[f"$L__func_begin{k}"] == 0
        assert places[f"$L__func_end{k}"] == sizes[name]
    assert 0 < places["$L__tmp0"] <= places["$L__tmp1"] < places["$L__tmp10"] <= sizes["_Z1f1Pi"]


@pytest.mark.parametrize("arch", ARCHES)
def test_registers_are_where_the_table_says(arch: str) -> None:
    """A store's data register is one that the table names at the store."""
    cubin = ours("types", arch)
    rows = tables(cubin)["kk"]
    image = sim.load(cubin)
    seen = 0
    for index in range(image.code_size() // 16):
        d = image.decoded(index)
        if d is None or d.op.base != "STG":
            continue
        register = payload(d.src[4])
        assert [r for r in rows if r[2] == 5 << 24 | register and r[1] == 0 and r[3] <= 16 * index < r[4]], (
            index,
            rows,
        )
        seen += 1
    assert seen == 15


@pytest.mark.parametrize("compiler", ["orias", "ptxas"])
def test_types_of_registers(compiler: str, tmp_path: Path) -> None:
    cubin = ours("types", "sm_80") if compiler == "orias" else theirs("types", "sm_80", tmp_path)
    types = {r[0]: r[5] for r in tables(cubin)["kk"]}
    assert types == {
        "%c1": 0, "%rs1": 1, "%g1": 1, "%rd1": 3, "%d1": 4, "%v1": 5, "%u1": 6, "%U1": 7, "%e1": 8, "%w1": 9, "%s1": 10,
        "%S1": 11, "%h1": 12, "%hh1": 13, "%f1": 14, "%fd1": 15, "%p1": 16,
    }  # fmt: skip


def test_values_of_a_loop_follow_one_another(arch: str = "sm_80") -> None:
    """No word of a register is in two places at once."""
    for rows in tables(ours("frame", arch)).values():
        assert len(rows) > 20
        for i, r in enumerate(rows):
            assert r[3] < r[4]
            for other in rows[:i]:
                assert other[:2] != r[:2] or other[4] <= r[3], (other, r)


def run_cli(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orias", "-arch=sm_80", *arguments, "-o", str(directory / "o.cubin")]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_target_debug_is_g(tmp_path: Path) -> None:
    path = str(PTX / "frame.ptx")
    for option in ("-lineinfo", "-O0", "-g"):
        assert run_cli(tmp_path, option, path).returncode == 0
        assert data_of((tmp_path / "o.cubin").read_bytes(), ".nv_debug_info_reg_type")
    assert run_cli(tmp_path, "-suppress-debug-info", path).returncode == 0
    names = [s.name for s in ElfFile((tmp_path / "o.cubin").read_bytes()).sections]
    assert ".debug_info" not in names and ".text._Z1f1Pi" in names
    refused = run_cli(tmp_path, "-O3", path)
    assert refused.returncode == 255
    assert refused.stderr.startswith("orias fatal   : Optimized debugging not supported\n")


def test_missing_debug_information_is_said(tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n")
    done = run_cli(tmp_path, "-g", str(source))
    assert done.returncode == 0
    assert done.stderr == (
        "orias warning :  .debug_abbrev section not found\norias warning :  .debug_info section not found\n"
    )


DIVISION = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 a, .param .u64 b) {
.reg .b64 %rd<6>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [a];
ld.param.u64 %rd3, [b];
div.u64 %rd4, %rd2, %rd3;
rem.u64 %rd5, %rd3, %rd2;
st.global.u64 [%rd1], %rd4;
st.global.u64 [%rd1+8], %rd5;
ret;
}
"""


@pytest.mark.parametrize("arch", ARCHES)
def test_registers_are_those_of_the_kernel_not_of_its_helpers(arch: str) -> None:
    """Helpers are functions with sections of their own, of which the program has no registers; in objects they are in the kernel's section."""
    rows = tables(orias.compile(DIVISION, arch=arch, debug=True, opt_level=0).data)
    assert rows["k"] and rows["__cuda_sm20_div_u64"] == rows["__cuda_sm20_rem_u64"] == []
    cubin = orias.compile(DIVISION, arch=arch, debug=True, opt_level=0, compile_only=True).data
    helpers = [s.value for s in ElfFile(cubin).symbols if s.name.startswith("$__internal")]
    found = tables(cubin)["k"]
    assert len(helpers) == 2 and found
    assert all(row[4] <= min(helpers) for row in found)


def test_a_value_is_found_until_something_else_is_in_its_register() -> None:
    """At the last instruction the table still has registers whose last use is long before."""
    body = (
        "ld.param.u64 %d, [p]; ld.global.u32 %a, [%d]; st.global.u32 [%d+4], %a;\n"
        "ld.global.u32 %b, [%d+8]; st.global.u32 [%d+12], %b; ret;"
    )
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        f".visible .entry k(.param .u64 p) {{ .reg .b64 %d; .reg .b32 %a, %b;\n{body} }}\n"
    )
    cubin = orias.compile(text, arch="sm_80", debug=True).data
    image = sim.load(cubin)
    decoded = [(16 * n, image.decoded(n)) for n in range(image.code_size() // 16)]
    end = next(at for at, d in decoded if d is not None and d.op.base == "EXIT")
    rows = tables(cubin)["k"]
    assert {r[0] for r in rows if r[3] <= end < r[4]} == {"%a", "%b", "%d"}
    for at, d in decoded:
        if d is not None and d.op.base == "LDG":
            holders = [r[0] for r in rows if r[2] == 5 << 24 | payload(d.dst[0]) and r[3] <= at + 16 < r[4]]
            assert len(holders) == 1


DYNAMIC = """.version 8.7
.target {}
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.shared .b32 fixed[5];
.func (.param .b32 r) f(.param .b32 a) {{
.reg .b32 %r<8>;
ld.param.u32 %r1, [a]; mov.u32 %r2, dyn; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;
st.shared.u32 [%r2], %r1; st.shared.u32 [fixed+16], 5; ld.shared.u32 %r4, [%r2]; ld.shared.u32 %r5, [fixed+16];
mad.lo.u32 %r4, %r5, 100, %r4; st.param.b32 [r], %r4; ret; }}
{} {}"""
DYNAMIC_KERNEL = """.visible .entry {0}(.param .u64 p) {{
.reg .b64 %rd<4>; .reg .b32 %r<8>; {1}
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; mov.u32 %r3, 0; {2}
{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), f, (x); ld.param.b32 %r2, [y]; }}
{3} add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2; ret; }}
"""


@pytest.mark.parametrize("options", [{"debug": True}, {"cloning": False}])
@pytest.mark.parametrize("arch", rotating(("sm_75", "sm_80", "sm_90", "sm_100a"), 2, "dynamic"))
def test_dynamic_shared_memory_in_a_function(options: dict[str, bool], arch: str, tmp_path: Path) -> None:
    """It begins at one address in all kernels, after the static variables of each, as with ptxas."""
    own = ".shared .b32 own[7];", "st.shared.u32 [own+24], 7000;", "ld.shared.u32 %r3, [own+24];"
    text = DYNAMIC.format(arch, DYNAMIC_KERNEL.format("k", "", "", ""), DYNAMIC_KERNEL.format("k2", *own))
    ours = orias.compile(text, arch=arch, **options).data
    (tmp_path / "k.ptx").write_text(text)
    option = "-g" if "debug" in options else "--cloning=no"
    command = [tool("ptxas"), f"-arch={arch}", option, str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True)
    theirs = (tmp_path / "k.cubin").read_bytes()
    sizes = [{s.name: s.size for s in ElfFile(c).sections if "shared" in s.name and s.size} for c in (ours, theirs)]
    if "debug" in options:
        assert sizes[0] == sizes[1]
    for cubin in (ours, theirs):
        for kernel, more in (("k", 500), ("k2", 7500)):
            out = np.zeros(32, np.uint32)
            sim.load(cubin).launch(kernel, 1, 32, [out], shared=128)
            assert out.tolist() == [more + n for n in range(32)]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", ["frame", "types"])
def test_relocations_of_debug_sections_have_their_sections(name: str, arch: str, tmp_path: Path) -> None:
    """Below sm_90 all of `.debug_info` have addends, and those of `.debug_loc` are in the data; the order of code is that of declarations."""

    def shape(data: bytes) -> list[str]:
        names = [s.name for s in ElfFile(data).sections]
        return [n for n in names if n.startswith((".rel.debug", ".rela.debug", ".text."))]

    assert shape(ours(name, arch, debug=True)) == shape(theirs(name, arch, tmp_path, "-g"))


def test_code_in_the_order_of_first_declarations() -> None:
    text = """.version 8.0
.target sm_80
.address_size 64
.func g();
.func f();
.entry k() { call f; call g; ret; }
.func f() { ret; }
.func g() { ret; }
"""
    names = [s.name for s in ElfFile(orias.compile(text, arch="sm_80", debug=True).data).sections]
    assert [n for n in names if n.startswith(".text.")] == [".text.g", ".text.f", ".text.k"]


def test_code_before_all_instructions_has_the_first_line() -> None:
    """A kernel of one `ret` begins with the stack pointer, at the line of its first `.loc`."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
.loc 1 73 0

.loc 1 74 1
ret;
}
.file 1 "k.cu"
"""
    rows = line_tables(ElfFile(orias.compile(text, arch="sm_80", lineinfo=True).data))
    assert [(row.offset, row.line) for table in rows.values() for row in table][:2] == [(0, 73), (16, 74)]


def test_a_comparison_that_takes_a_predicate_in_has_no_line() -> None:
    """As with ptxas: ``and`` and the comparison become one instruction, which counts to what precedes it."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .u64 %rd1;
    .reg .b32 %r<4>;
    .reg .pred %p<4>;
    .loc 1 71 0
    ld.param.u64 %rd1, [a];
    ld.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [%rd1+4];
    .loc 1 72 0
    setp.lt.s32 %p1, %r1, 5;
    .loc 1 73 0
    setp.gt.s32 %p2, %r2, 7;
    .loc 1 74 0
    and.pred %p3, %p1, %p2;
    .loc 1 75 0
    selp.b32 %r3, %r1, %r2, %p3;
    st.global.u32 [%rd1+8], %r3;
    ret;
}
.file 1 "k.cu"
"""
    rows = line_tables(ElfFile(orias.compile(text, arch="sm_80", lineinfo=True).data))
    lines = {row.line for table in rows.values() for row in table}
    assert lines in ({71, 72, 75}, {71, 73, 75})


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_name_of_the_text_in_objects(arch: str, tmp_path: Path) -> None:
    def names(data: bytes) -> list[str]:
        return [s.name for s in ElfFile(data).sections if s.name.startswith(".nv_debug_ptx_txt")]

    assert len(names(ours("frame", arch, compile_only=True))) == 1
    assert names(ours("frame", arch, compile_only=True)) == names(theirs("frame", arch, tmp_path, "-c", "-g"))
    assert names(ours("frame", arch, lineinfo=True)) == [".nv_debug_ptx_txt"]


def test_constants_have_the_line_of_their_use() -> None:
    """As with ptxas, which reads parameters as operands; line 72 has no code of its own."""
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 b)
{
    .reg .u64 %rd1;
    .reg .b32 %r<4>;
    .loc 1 71 0
    ld.param.u64 %rd1, [a];
    .loc 1 72 0
    ld.param.u32 %r1, [b];
    .loc 1 73 0
    ld.global.u32 %r2, [%rd1];
    .loc 1 75 0
    st.global.u32 [%rd1+8], %r1;
    st.global.u32 [%rd1+4], %r2;
    ret;
}
.file 1 "k.cu"
"""
    cubin = orias.compile(text, arch="sm_90", lineinfo=True).data
    lines = {row.line for table in line_tables(ElfFile(cubin)).values() for row in table}
    assert lines == {71, 73, 75}


def test_copies_of_arguments_have_the_line_of_the_function() -> None:
    """With -g, at the start of a function, at the PTX line of its head, before its first `.loc`."""
    first = Loc(1, 10, 5)
    rows = line_rows([(0, 3), (16, 6)], {6: first}, {}, first)
    assert [(r.offset, r.file, r.line, r.ptx_line) for r in rows] == [(0, 1, 10, 3), (16, 1, 10, 6)]
