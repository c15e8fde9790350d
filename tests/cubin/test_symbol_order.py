"""The symbols, in the order of ptxas's: of objects (-c), and of files that read the places of reserved shared memory."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.reader import Reader
from orias.cubin.writer import write
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating

HEAD = ".version 8.8\n.target {}\n.address_size 64\n"
LEVELS = {"-O3": {}, "-O1": {"opt_level": 1}, "-O0": {"opt_level": 0}, "-g": {"debug": True}}
PROGRAMS = {
    "calls in another order": (".func f1()", ".func f2() f1", ".func f3()", ".visible .entry k() f3 f1 f2 s"),
    "one calls the next": (".func f1()", ".func f2() f1", ".visible .func f3() f2", ".visible .entry k() s f3 f1"),
    "a function that nothing calls": (".func f1()", ".func f2()", ".visible .entry k() f2"),
    "two kernels": (".func f1()", ".func f2()", ".visible .entry k() s f2", ".visible .entry k2() f1 s t"),
    "a local kernel": (".func f1()", ".entry k() f1 s", ".visible .entry k2() s f1"),
    "variables of one name": (".func f1()", ".visible .entry k() s t", ".visible .entry k2() s f1"),
}
"""Functions with what they use: functions that they call, shared variables of their own."""


def text_of(functions: tuple[str, ...], arch: str) -> str:
    out = HEAD.format(arch)
    for line in functions:
        head, _, uses = line.partition("()")
        body = [f".shared .b32 {v};" for v in uses.split() if v[0] != "f"]
        body += [f"call {u};" if u[0] == "f" else f"st.shared.u32 [{u}], 1;" for u in uses.split()]
        out += f"{head}() {{ {' '.join(body)} ret; }}\n"
    return out


def symbols(cubin: bytes) -> list[str]:
    """The names of all symbols; those of debug sections, whose text is the command line's too, are left out."""
    return [y.name for y in ElfFile(cubin).symbols if not y.name.startswith((".nv_debug", ".debug"))]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("arch", rotating(("sm_75", "sm_80", "sm_90", "sm_100a", "sm_120"), 2, "symbol order"))
@pytest.mark.parametrize("name", PROGRAMS)
def test_symbols_of_objects(name: str, arch: str, level: str, tmp_path: Path) -> None:
    text = text_of(PROGRAMS[name], arch)
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-c", level, f"-arch={arch}", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    ours = orias.compile(text, arch=arch, compile_only=True, capsules="none", **LEVELS[level])
    theirs = symbols((tmp_path / "k.cubin").read_bytes())
    assert symbols(ours.data) == [n for n in theirs if not n.startswith(".nv.merc")]


RESERVED = (
    "0",
    "1",
    "begin",
    "end",
    "cap",
    "0 begin",
    "0 cap",
    "begin cap s",
    "0 s",
    "begin s",
    "1 s",
    "0 | begin",
    "begin | 0",
    "0 | s",
)
"""For each kernel the %reserved_smem_offset registers that it reads; s: it has a shared variable."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("option", ["", "-c", "-g"])
@pytest.mark.parametrize("registers", rotating(RESERVED, 5, "reserved shared memory"))
def test_reserved_shared_memory(registers: str, option: str, tmp_path: Path) -> None:
    """What is a constant in sm_90 code leaves a symbol without name, each once, in its place; sections and symbols as with ptxas."""
    text = HEAD.format("sm_90")
    for n, reads in enumerate(registers.split("|")):
        text += f".visible .entry k{n}(.param .u64 p) {{ .reg .b64 %p; .reg .b32 %r; ld.param.u64 %p, [p];\n"
        for at, read in enumerate(reads.split()):
            move = ".shared .b32 s; mov.u32 %r, s;" if read == "s" else f"mov.u32 %r, %reserved_smem_offset_{read};"
            text += f"{move} st.global.u32 [%p + {4 * at}], %r;\n"
        text += "ret; }\n"
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), *option.split(), "-arch=sm_90", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    theirs = (tmp_path / "k.cubin").read_bytes()
    ours = orias.compile(text, arch="sm_90", compile_only=option == "-c", debug=option == "-g").data
    assert symbols(ours) == symbols(theirs)
    assert {s.name for s in ElfFile(ours).sections} == {s.name for s in ElfFile(theirs).sections}
    # The reader gives the gaps to the first kernel that reads one of these registers.
    if not option and "|" not in registers:
        assert write(Reader(theirs).module) == theirs


DYNAMIC = ("E L", "L E", "E V I C", "S E L V", "L S E", "E D V")
"""Declarations: dynamic shared memory (E, D), local (L), visible (V), initialised (I), constant (C) and shared (S) variables."""
_DECLARED = {
    "E": ".extern .shared .align 16 .b8 E[];", "D": ".extern .shared .align 4 .b8 D[];", "L": ".global .align 16 .b8 L[16];",
    "V": ".visible .global .align 16 .b8 V[16];", "I": ".visible .global .align 4 .b32 I = 7;", "C": ".const .align 4 .b8 C[8];",
    "S": ".shared .align 4 .b8 S[16];",
}  # fmt: skip


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("names", DYNAMIC)
def test_dynamic_shared_memory_comes_last(names: str, arch: str, tmp_path: Path) -> None:
    """-g: its section and symbols come after those of all variables; a function that nothing calls uses the shared variable."""
    text = HEAD.format(arch) + "\n".join(_DECLARED[n] for n in names.split()) + "\n"
    used = (
        ".visible .func f() { .reg .b32 %r; ld.shared.u32 %r, [S]; st.local.u32 [%r], %r; ret; }\n"
        if "S" in names
        else ""
    )
    spaces = {"E": "shared", "D": "shared", "C": "const"}
    reads = "".join(
        f"ld.{spaces.get(n, 'global')}.u32 %r, [{n}]; st.global.u32 [%p+{4 * k}], %r;\n"
        for k, n in enumerate(names.split())
        if n != "S"
    )
    text += (
        used
        + f".visible .entry k(.param .u64 p) {{ .reg .b64 %p; .reg .b32 %r; ld.param.u64 %p, [p];\n{reads}ret; }}\n"
    )
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-g", f"-arch={arch}", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    theirs = (tmp_path / "k.cubin").read_bytes()
    ours = orias.compile(text, arch=arch, debug=True, capsules="none").data
    # Of a function that uses shared memory ptxas has the size of its reserved part as a symbol.
    left_out = ("", ".nv.reservedSmem.cap") if "S" in names else ()
    wanted = [n for n in symbols(theirs) if not n.startswith(".nv.merc") and n not in left_out]
    assert [n for n in symbols(ours) if n not in left_out] == wanted
    # Sections of data alone: those of relocations and capsules are another matter.
    assert data_sections(ours) == data_sections(theirs)


def data_sections(cubin: bytes) -> list[str]:
    names = (".nv.global", ".nv_debug.shared", ".nv.shared", ".nv.constant")
    return [s.name for s in ElfFile(cubin).sections if s.name.startswith(names)]
