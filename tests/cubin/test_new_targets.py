"""Our cubins for sm_100 to sm_121: accepted by NVIDIA's tools, with and without capsules, and otherwise as ptxas writes them."""

import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin import elf, nvinfo
from orias.cubin.capsule.capsule_parser import MERCURY_PREFIXES
from orias.cubin.elf import ElfFile, Section
from orias.target.profile import target as profile
from orias.tools.disassemble import decode_text_section
from tests.cubin.ptx_cases import CASES, NEW_HEAD
from tests.cubin.test_roundtrip import compile_ptx
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating

ARCHES = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
SAME_CODE = ("params", "plain", "printf", "shared", "variables")
"""Modules for which Orias and ptxas write the same sections and records."""
COMPARED = re.compile(r"\.nv\.(info|compat|shared|constant\d|global)|\.text|\.note\.nv\.cuinfo")
RESERVED = """
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1,[p]; mov.u32 %r1,%reserved_smem_offset_begin; mov.u32 %r2,%reserved_smem_offset_cap;
  mov.u32 %r3,%reserved_smem_offset_0; add.u32 %r1,%r1,%r2; add.u32 %r1,%r1,%r3; st.global.u32 [%rd1],%r1; ret;
}
"""
NO_ENTRY = (".visible .func f() { ret; }", ".visible .global .u32 g = 5;", "")
BODIES = {
    "plain": "mul.f32 %f1,%f1,%f1;",
    "f64": "cvt.f64.f32 %d1,%f1; add.f64 %d1,%d1,%d1; cvt.rn.f32.f64 %f1,%d1;",
    "compared": "setp.gt.f32 %p,%f1,0f40400000; selp.f32 %f1,%f1,0f3F800000,%p;",
}
KERNEL = """
.visible .entry k(.param .u64 p) {{
  .reg .f32 %f<3>; .reg .f64 %d<2>; .reg .b64 %rd<2>; .reg .pred %p;
  ld.param.u64 %rd1,[p]; ld.global.f32 %f1,[%rd1]; {} st.global.f32 [%rd1],%f1; ret;
}}
"""

CLASS_BODIES = {
    "plain": "add.s64 %rd3,%rd3,%rd2; add.f32 %f3,%f1,%f2;",
    "minimum": "min.u32 %r3,%r1,%r2; cvt.u64.u32 %rd3,%r3;",
    "minimum in 64 bits": "ld.global.u64 %rd2,[%rd1]; min.s64 %rd3,%rd3,%rd2;",
    "float of parameters": "mul.f32 %f3,%f1,%f2; fma.rn.f32 %f3,%f3,%f1,%f2; add.f32 %f3,%f3,%f1;",
    "compared parameters": "setp.gt.f32 %p,%f1,%f2; selp.f32 %f3,%f1,%f2,%p;",
    "quotient": "mul.hi.u32 %r3,%r1,%r2; shr.u32 %r3,%r3,3; cvt.u64.u32 %rd3,%r3;",
    "converted parameter": "cvt.rn.f32.u32 %f3,%r1;",
}
CLASS_KERNEL = """
.visible .entry k(.param .u64 p,.param .f32 a,.param .f32 b,.param .u32 c,.param .u32 d,.param .u64 e,.param .u64 f) {{
  .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;
  ld.param.u64 %rd1,[p]; ld.param.f32 %f1,[a]; ld.param.f32 %f2,[b]; ld.param.u32 %r1,[c]; ld.param.u32 %r2,[d];
  ld.param.u64 %rd3,[e]; ld.param.u64 %rd2,[f]; mov.f32 %f3,%f1;
  {} st.global.f32 [%rd1],%f3; st.global.u64 [%rd1+8],%rd3; ret;
}}
"""


def ours(ptx: str, arch: str, compile_only: bool = False, capsules: str = "allow") -> bytes:
    text = NEW_HEAD.format(target=arch) + ptx
    return orias.compile(text, arch=arch, compile_only=compile_only, capsules=capsules).data


def accepted(folder: Path, data: bytes, arch: str, compile_only: bool) -> None:
    path = folder / "ours.cubin"
    path.write_bytes(data)
    link = [tool("nvlink"), f"-arch={arch}", str(path), "-o", str(folder / "linked")]
    commands = [[tool("nvdisasm"), "-c"], [tool("cuobjdump"), "-elf"], [tool("cuobjdump"), "-sass"]]
    for command in [*([*c, str(path)] for c in commands), *([link] if compile_only else [])]:
        r = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        assert r.returncode == 0, (command, r.stderr)


def symbols(file: ElfFile) -> list[tuple[str, int, int, int, str, int]]:
    """Symbols with the names of their sections and, for reserved shared memory, their values."""
    out: list[tuple[str, int, int, int, str, int]] = []
    for s in file.symbols:
        section = file.sections[s.section].name if s.section < len(file.sections) else str(s.section)
        out.append((s.name, s.bind, s.type, s.other, section, s.value if "eserved" in s.name else 0))
    return out


def records(section: Section) -> list[str]:
    """Records of attributes; of those that hold code offsets only the name."""
    found = nvinfo.decode(section.data, section.name)
    return [
        r.name() if r.code in (nvinfo.EXIT_INSTR_OFFSETS, nvinfo.SYSCALL_OFFSETS, nvinfo.REGCOUNT) else repr(r)
        for r in found
    ]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", rotating(ARCHES, 2, "our cubins"))
@pytest.mark.parametrize("case", rotating(sorted(set(CASES) - {"texture"}), 2, "our cubins"))
def test_tools_accept(tmp_path: Path, case: str, arch: str) -> None:
    for compile_only in (False, True):
        for capsules in ("forbid", "allow"):
            data = ours(CASES[case], arch, compile_only, capsules)
            file = ElfFile(data)
            mercury = [s.name for s in file.sections if s.name.startswith(MERCURY_PREFIXES)]
            assert (file.flags & 0xFF == elf.KIND_CAPSULE) == bool(mercury)
            assert capsules == "allow" or not mercury
            accepted(tmp_path, data, arch, compile_only)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("case", rotating(SAME_CODE, 2, "our cubins like those of ptxas"))
def test_same_as_ptxas(tmp_path: Path, case: str, arch: str) -> None:
    for options in ((), ("-c",)):
        want, got = (
            ElfFile(compile_ptx(tmp_path, CASES[case], arch, *options)),
            ElfFile(ours(CASES[case], arch, bool(options))),
        )
        assert got.flags >> 8 == want.flags >> 8
        assert symbols(got) == symbols(want)
        left = [s for s in want.sections if COMPARED.match(s.name)]
        mine = [s for s in got.sections if COMPARED.match(s.name)]
        assert [s.name for s in mine] == [s.name for s in left]
        for s, t in zip(left, mine, strict=True):
            assert (t.type, t.flags, t.align, t.entsize) == (s.type, s.flags, s.align, s.entsize), s.name
            if s.name.startswith(".nv.info") or s.name == ".nv.compat":
                assert records(t) == records(s)
            elif not s.name.startswith(".text"):
                assert t.size == s.size, s.name


@pytest.mark.parametrize("arch", ("sm_100a", "sm_110a"))
def test_reserved_shared_memory(tmp_path: Path, arch: str) -> None:
    want, got = ElfFile(compile_ptx(tmp_path, RESERVED, arch)), ElfFile(ours(RESERVED, arch))
    assert symbols(got) == symbols(want)
    for name in (".nv.info.k", ".nv.shared.reserved.0"):
        s, t = want.section(name), got.section(name)
        assert s is not None and t is not None
        assert t.size == s.size
    s, t = want.section(".nv.info.k"), got.section(".nv.info.k")
    assert s is not None and t is not None and records(s) == records(t)


@pytest.mark.parametrize("module", NO_ENTRY)
@pytest.mark.parametrize("options", ((), ("-c",)))
def test_reserved_variable_without_entry(tmp_path: Path, module: str, options: tuple[str, ...]) -> None:
    """sm_110 has its variable in every file."""
    want = ElfFile(compile_ptx(tmp_path, module, "sm_110a", *options))
    got = ElfFile(ours(module, "sm_110a", bool(options)))
    s, t = want.section(".nv.shared.reserved.0"), got.section(".nv.shared.reserved.0")
    assert s is not None and t is not None
    assert (t.type, t.flags, t.align, t.size) == (s.type, s.flags, s.align, s.size)
    assert [x for x in symbols(got) if x[4] == s.name] == [x for x in symbols(want) if x[4] == s.name]


@pytest.mark.parametrize("arch", ("sm_100a", "sm_103a", "sm_120a"))
@pytest.mark.parametrize("body", sorted(BODIES))
def test_class_of_code(tmp_path: Path, body: str, arch: str) -> None:
    ptx = KERNEL.format(BODIES[body])
    s = ElfFile(compile_ptx(tmp_path, ptx, arch)).section(".nv.compat")
    t = ElfFile(ours(ptx, arch)).section(".nv.compat")
    assert s is not None and t is not None and t.data == s.data


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ("sm_100a", "sm_110a", "sm_120a"))
@pytest.mark.parametrize("body", sorted(CLASS_BODIES))
def test_instruction_class(tmp_path: Path, body: str, arch: str) -> None:
    """The class that ptxas states is the greatest that the table gives for its operations, and so is ours for ours."""
    ptx = CLASS_KERNEL.format(CLASS_BODIES[body])
    for data in (compile_ptx(tmp_path, ptx, arch), ours(ptx, arch)):
        file = ElfFile(data)
        text, compat = file.section(".text.k"), file.section(".nv.compat")
        assert text is not None and compat is not None
        ops = {d.op for d in decode_text_section(text.data, profile(arch).table)}
        stated = next(r.value for r in nvinfo.decode(compat.data, ".nv.compat") if r.code == 2)
        assert stated == max(1, *(o.compat for o in ops)), sorted(o.name for o in ops)


def test_no_code_has_no_class(tmp_path: Path) -> None:
    ptx = ".visible .global .u32 g = 5;\n"
    s = ElfFile(compile_ptx(tmp_path, ptx, "sm_120a")).section(".nv.compat")
    t = ElfFile(ours(ptx, "sm_120a")).section(".nv.compat")
    assert s is not None and t is not None and t.data == s.data
