"""Options that change what is written in ways of their own: relocations that stay, functions for tools, code without uniform registers,
files of controls and of link information, the warning on stacks of unknown size, a reserved address 0, a file in the cubin."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.cubin import nvinfo
from orias.cubin.elf import SHT_CUDA_RESOLVED_RELA, ElfFile
from orias.cubin.reader import Reader
from orias.cubin.relocs import apply
from orias.tools.disassemble import disassemble
from tests.cubin.test_cubin_records import HEAD as RECORDS_HEAD
from tests.nvtools import LIMIT_S, tool
from tools.compare_records import MODES, features, judged

HEAD = ".version 8.0\n.target {}\n.address_size 64\n"
MEMORY = """.global .u32 w = 5;
.const .u32 c = 7;
.const .u32 c2[4] = {1, 2, 3, 4};
.shared .u32 ms[4];
.visible .entry k(.param .u64 p) { .shared .b32 s[8]; .reg .b64 %d<4>; .reg .b32 %r<9>; ld.param.u64 %d1, [p];
ld.const.u32 %r1, [c]; st.shared.u32 [s+4], %r1; st.shared.u32 [ms+8], 9; bar.sync 0; ld.shared.u32 %r2, [ms+8]; ld.shared.u32 %r3, [s+4];
ld.global.u32 %r4, [w]; ld.const.u32 %r5, [c2+8]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5;
st.global.u32 [%d1], %r2; ret; }
"""
PATCH = """.global .u32 w = 5;
.func (.param .b32 r) h(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<9>; ld.param.b32 %r1, [a]; bar.sync 0;
{ .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; call.uni (y), h, (x); ld.param.b32 %r1, [y]; }
ld.global.u32 %r2, [w]; add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
"""
RECURSION = """.func (.param .b32 r) f(.param .b32 a);
.func (.param .b32 r) f(.param .b32 a) { .reg .pred %p; .reg .b32 %r<3>; ld.param.b32 %r1, [a]; setp.eq.s32 %p, %r1, 0; @%p bra E;
add.s32 %r1, %r1, -1; { .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; call.uni (y), f, (x); ld.param.b32 %r1, [y]; }
E: st.param.b32 [r], %r1; ret; }
.visible .entry plain() { ret; }
.visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r<3>; ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d];
{ .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; call.uni (y), f, (x); ld.param.b32 %r2, [y]; } st.global.u32 [%d], %r2; ret; }
"""
STORE = ".visible .entry k(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], 1; ret; }\n"


def command(tmp_path: Path, text: str, *options: str) -> int:
    (tmp_path / "k.ptx").write_text(text)
    return run(["ptxas", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin"), *options])


def resolved(data: bytes, section: str) -> list[tuple[int, int, int, str]]:
    """(offset, type, symbol's value and addend, symbol) of the relocations that were resolved in a section."""
    elf = ElfFile(data)
    found = [s for s in elf.sections if s.name == f".nv.resolvedrela{section}"]
    assert all(s.type == SHT_CUDA_RESOLVED_RELA for s in found)
    out = []
    for s in found:
        for r in elf.relocation_entries(s):
            y = elf.symbols[r.symbol]
            bank = {".nv.constant3": 3 << 16, ".nv.constant4": 4 << 16}.get(elf.sections[y.section].name, 0)
            out.append((r.offset, r.type, (y.value | bank) + r.addend, y.name))
    return out


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89"])
def test_relocations_stay(arch: str) -> None:
    """Each says again what is in the code, and all variables are named."""
    data = orias.compile(HEAD.format(arch) + MEMORY, arch=arch, preserve_relocs=True).data
    code = next(s.data for s in ElfFile(data).sections if s.name == ".text.k")
    rows = resolved(data, ".text.k")
    assert {name for *_, name in rows} == {"ms", "c", "c2", "$ADDRESS$w", "$__s__8"}
    for offset, type_, value, name in rows:
        again = bytearray(code)
        apply(again, offset, type_, value)
        assert again == code, name
    assert [(at, value) for at, _, value, _ in resolved(data, ".debug_frame")] == [(0x3C, 0)]
    names = {y.name for y in ElfFile(data).symbols}
    assert "_param" in names and resolved(orias.compile(HEAD.format(arch) + MEMORY, arch=arch).data, ".text.k") == []


def test_code_with_its_relocations_computes_the_same() -> None:
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    out = []
    for keeps in (False, True):
        word = np.zeros(1, np.uint32)
        sim.load(orias.compile(HEAD.format("sm_80") + MEMORY, arch="sm_80", preserve_relocs=keeps).data).launch(
            "k", 1, 1, [word]
        )
        out.append(int(word[0]))
    assert out == [9 + 7 + 5 + 3] * 2


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a"])
def test_functions_for_tools_are_as_ptxas_has_them(arch: str, tmp_path: Path) -> None:
    tool("ptxas")
    text = RECORDS_HEAD.format(version="9.0", arch=arch) + PATCH
    MODES["patch"] = ["-astoolspatch"]
    theirs = judged(text, arch, "patch", tmp_path)
    assert isinstance(theirs, bytes)
    ours = orias.compile(text, arch=arch, tools_patch=True, uniform_registers=False).data
    assert sorted(features(ours) ^ features(theirs)) == []


def test_what_functions_for_tools_must_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more, what in (
        (STORE, "Entry function"),
        (".shared .b32 s[4];\n.visible .func f() { ret; }\n", "Allocating additional shared memory"),
    ):
        assert command(tmp_path, HEAD.format("sm_75") + more, "-astoolspatch") == 255
        assert (
            f"error   : {what} is not allowed when command line option '--compile-as-tools-patch'"
            in capsys.readouterr().err
        )
    assert command(tmp_path, HEAD.format("sm_75") + PATCH, "-astoolspatch") == 0
    info = next(s.data for s in ElfFile((tmp_path / "k.cubin").read_bytes()).sections if s.name == ".nv.info.f")
    assert nvinfo.TOOLS_PATCH_FUNC in [r.code for r in nvinfo.decode(info)]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a"])
def test_no_uniform_registers(arch: str) -> None:
    text = HEAD.format(arch).replace("8.0", "8.8") + MEMORY
    plain, spared = (orias.compile(text, arch=arch, uniform_registers=uses).data for uses in (True, False))
    assert "UR" in disassemble(plain) or arch == "sm_75"
    assert "UR" not in disassemble(spared)


def test_where_uniform_registers_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = ".visible .entry k(.param .u64 p) {{ .reg .b64 %d; .reg .b32 %r<3>; .reg .pred %p; ld.param.u64 %d, [p]; {} ret; }}\n"
    said = {
        "elect.sync %r1|%p, -1; st.global.u32 [%d], %r1;": (0, "warning : (C7601) Uniform registers were disallowed, but the compiler required ("),
        "cp.async.wait_all;": (255, "error   : Instruction 'cp' is not allowed when command line option '--sw200428197' is specified "),
        "redux.sync.add.s32 %r1, 3, -1; st.global.u32 [%d], %r1;": (255, "fatal   : Instruction 'redux' is not allowed"),
    }  # fmt: skip
    for line, (code, message) in said.items():
        assert command(tmp_path, HEAD.format("sm_90") + body.format(line), "-arch=sm_90", "--sw200428197=true") == code
        assert message in capsys.readouterr().err


def test_controls_need_no_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As with ptxas: the file is written, and nothing is said."""
    for name, code in (("controls", 0), ("none/controls", 255)):
        line = ["-arch=sm_90", f"--query-controls={tmp_path / name}"]
        real = subprocess.run([tool("ptxas"), *line], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        (tmp_path / name).unlink(missing_ok=True)
        assert run(["ptxas", *line]) == code == real.returncode
        assert (real.stdout, real.stderr) == capsys.readouterr()
    assert (tmp_path / "controls").read_text().startswith("# Controls of Orias")


def test_controls_are_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "controls"
    assert command(tmp_path, HEAD.format("sm_75") + STORE, f"--query-controls={file}") == 0
    assert command(tmp_path, HEAD.format("sm_75") + STORE, f"--apply-controls={file}") == 0
    file.write_text(file.read_text().replace("MaxRegCount=255", "MaxRegCount=x"))
    assert command(tmp_path, HEAD.format("sm_75") + STORE, f"--apply-controls={file}") == 255
    file.write_text("MaxRegCount=24\n")
    capsys.readouterr()
    assert command(tmp_path, HEAD.format("sm_75") + STORE, f"--apply-controls={file}") == 255
    assert f"Input file '{file}' not in expected format" in capsys.readouterr().err
    assert command(tmp_path, HEAD.format("sm_75") + STORE, f"--query-controls={tmp_path}/none/x") == 255
    assert "could not be opened" in capsys.readouterr().err


def test_link_information(tmp_path: Path) -> None:
    text = HEAD.format("sm_75") + ".visible .global .u32 v;\n.extern .func g();\n" + STORE + ".entry q() { ret; }\n"
    assert command(tmp_path, text, "-c", f"--link-info={tmp_path}/x") == 0
    assert (tmp_path / "x").read_text("latin-1") == f" --import {','.join(['(null)'] * 90)} --export (null),\x05"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("options", "kernels"),
    [("", []), ("-g", ["k"]), ("--cloning=no", ["k"]), ("-ewp", ["k"]), ("-ewp -g", []), ("-c", [])],
)
def test_stacks_of_unknown_size(
    options: str, kernels: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEAD.format("sm_75") + RECURSION
    assert command(tmp_path, text, *options.split()) == 0
    said = [line.split("'")[1] for line in capsys.readouterr().err.splitlines() if "statically determined" in line]
    assert said == kernels
    assert command(tmp_path, text, *options.split(), "-suppress-stack-size-warning") == 0
    assert "statically" not in capsys.readouterr().err
    assert command(tmp_path, text, *options.split(), "-Werror") == (255 if kernels or "-g" in options else 0)


def test_functions_that_no_kernel_reaches_are_left_out() -> None:
    text = (
        HEAD.format("sm_75") + ".visible .func f() { ret; }\n.func g() { ret; }\n.visible .entry k() { call g; ret; }\n"
    )
    for options, expected in (({"cloning": False}, {"g", "k"}), ({"debug": True}, {"f", "g", "k"})):
        elf = ElfFile(orias.compile(text, arch="sm_75", **options).data)  # type: ignore[arg-type]
        assert {s.name.removeprefix(".text.") for s in elf.sections if s.name.startswith(".text.")} == expected


def test_an_unfinished_comment_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ptxas", "-ias", "/* x"]) == 255
    assert "line 1; fatal   : Parsing error near '': unexpected EOF while scanning" in capsys.readouterr().err


def test_tool_name_in_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without folders and the last extension."""
    for name, shown in (("l.ptx", "l"), ("/x/a.b.c", "a.b"), ("tool", "tool")):
        assert command(tmp_path, HEAD.format("sm_75") + STORE, "--tool-name", name, "-dlcm=xx") == 255
        assert capsys.readouterr().err.startswith(f"{shown} error   : ")


SPACES = """.const .align 1 .b8 c1[3] = {1, 2, 3};
.const .align 8 .u64 c8 = 5;
.extern .shared .align 16 .b8 dynamic[];
.shared .align 1 .b8 s1[3];
.func (.param .b32 r) f(.param .b32 a) { .shared .align 4 .b8 t[4]; .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.shared.u32 [t], %r1;
bar.sync 0; ld.shared.u32 %r1, [t]; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 p) { .shared .align 8 .b8 s8[8]; .reg .b64 %d<9>; .reg .b32 %r<9>; ld.param.u64 %d1, [p];
mov.u64 %d2, c1; mov.u64 %d3, c8; mov.u64 %d4, s1; mov.u64 %d5, s8; mov.u64 %d6, dynamic; st.global.u64 [%d1], %d2;
st.global.u64 [%d1+8], %d3; st.global.u64 [%d1+16], %d4; st.global.u64 [%d1+24], %d5; st.global.u64 [%d1+32], %d6;
{ .param .b32 x; st.param.b32 [x], 4; .param .b32 y; call.uni (y), f, (x); ld.param.b32 %r1, [y]; }
st.global.u32 [%d1+40], %r1; ret; }
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mode", ["exe", "c", "g", "ewp"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a"])
def test_a_file_a_name_and_a_reserved_address(arch: str, mode: str, tmp_path: Path) -> None:
    """Sections, symbols and records are those of ptxas."""
    text, file = RECORDS_HEAD.format(version="9.0", arch=arch) + SPACES, tmp_path / "host"
    file.write_bytes(b"hello")
    MODES["all"] = [*MODES[mode], "--cuda32f3056bbb=true", "--reserve-null-pointer"]
    MODES["all"] += [f"--nv-host={file}"] if mode in ("exe", "g") else []
    theirs = judged(text, arch, "all", tmp_path)
    assert isinstance(theirs, bytes)
    kind = {"compile_only": mode == "c", "debug": mode == "g", "extensible": mode == "ewp"}
    ours = orias.compile(text, arch=arch, name_syscall=True, reserve_null=True, host_data=b"hello", **kind).data  # type: ignore[arg-type]
    # docs/cubin.md, "Beside ptxas's files": addresses in operands of objects, relocation sections with -g.
    known = {"c": ("reloc .rel.text.f type ",), "g": ("section order", "section .rela.text.f ")}.get(mode, ("none",))
    assert [line for line in features(ours) ^ features(theirs) if not line.startswith(known)] == []
    for data in (ours, theirs):
        hosts = [s for s in ElfFile(data).sections if s.name.endswith(".nv.host")]
        assert {s.data for s in hosts} == ({b"hello"} if mode in ("exe", "g") else set())
    assert Reader(ours).module.host == (b"hello" if mode in ("exe", "g") else b"")


@pytest.mark.parametrize("mode", ["exe", "g", "no clones"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_no_variable_is_at_a_reserved_address(arch: str, mode: str) -> None:
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    for reserves in (False, True):
        words = np.zeros(6, np.uint64)
        kind = {"debug": mode == "g", "cloning": mode != "no clones", "reserve_null": reserves}
        text = HEAD.format(arch) + SPACES
        sim.load(orias.compile(text, arch=arch, **kind).data).launch("k", 1, 1, [words], shared=64)  # type: ignore[arg-type]
        places = [int(w) for w in words]
        assert (0 in [places[0], places[1]]) != reserves and places[5] == 4
        shared = [w % 0x400 for w in places[2:5]]
        assert (0 in shared or (mode == "no clones" and not reserves)) != reserves
