"""Capsules of what is not plain code: pointers to functions, texture references, calls of the driver, debug information, extensible whole programs."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.cubin import nvinfo
from orias.cubin.elf import KIND_CAPSULE, ElfFile
from orias.isa.operand import const_bank, const_offset
from orias.options import Options
from tests.cubin.test_capsule_writer import (
    FAMILY,
    POINTERS,
    changes,
    compiled,
    finalised,
    instructions,
    relocation_types,
    with_head,
)
from tests.cubin.test_roundtrip import compile_ptx
from tests.debuginfo.test_debuginfo import run_calls, text_of
from tests.device import load as load_image
from tests.nvtools import LIMIT_S, tool
from tests.sim.texture_programs import module as texture_module
from tests.sim.texture_programs import programs as texture_programs

TWO_KERNELS = POINTERS + POINTERS[POINTERS.index(".visible .entry k(") :].replace(" k(", " k2(")
PRINTF = """
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[4] = {37, 100, 10, 0};
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<6>; .reg .b32 %r<5>; .local .align 8 .b8 d[8]; ld.param.u64 %rd5,[p0];
  mov.u64 %rd1,fmt; cvta.global.u64 %rd2,%rd1; mov.u64 %rd3,d; cvta.local.u64 %rd4,%rd3; ld.global.u32 %r1,[%rd5]; st.local.u32 [%rd3],%r1;
  { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a],%rd2; st.param.b64 [b],%rd4; call.uni (r),vprintf,(a,b); ld.param.b32 %r2,[r]; }
  st.global.u32 [%rd5],%r1; ret;
}
"""
EXTENSIBLE = """
.visible .global .align 4 .u32 gv = 5;
.global .align 8 .u64 ptr[2] = {gv, generic(gv)};
.const .align 4 .u32 cv[4] = {1,2,3,4};
.shared .align 4 .b8 sh[64];
.func (.param .b32 r) square(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1,[a]; mul.lo.u32 %r2,%r1,%r1; st.param.b32 [r],%r2; ret; }
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<8>; .reg .b32 %r<9>; ld.param.u64 %rd1,[p0]; mov.u32 %r1,%tid.x; mov.u32 %r6,sh; mad.lo.u32 %r6,%r1,4,%r6;
  st.shared.u32 [%r6],%r1; bar.sync 0; ld.shared.u32 %r2,[sh+4]; mov.u64 %rd2,ptr; ld.global.u64 %rd3,[%rd2+8]; ld.global.u32 %r3,[%rd3];
  ld.const.u32 %r4,[cv+8]; { .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; call.uni (y),square,(x); ld.param.b32 %r5,[y]; }
  add.u32 %r5,%r5,%r2; add.u32 %r5,%r5,%r3; add.u32 %r5,%r5,%r4; mul.wide.u32 %rd4,%r1,4; add.u64 %rd1,%rd1,%rd4; st.global.u32 [%rd1],%r5; ret;
}
"""
REFERENCES = """
.global .texref t;
.global .surfref s;
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<6>; .reg .b32 %r<8>; .reg .f32 %f<8>;
  ld.param.u64 %rd1,[p0]; mov.f32 %f1,0f3f800000; mov.u32 %r1,%tid.x;
  tex.1d.v4.f32.f32 {%f2,%f3,%f4,%f5},[t,{%f1}]; st.global.f32 [%rd1],%f2; txq.width.b32 %r2,[t]; suq.width.b32 %r3,[s];
  st.global.u32 [%rd1+4],%r2; sust.b.1d.b32.trap [s,{%r1}],%r3; ret;
}
"""
SAMPLERS = """
.global .texref t;
.global .samplerref filter = {force_unnormalized_coords = 1, filter_mode = linear};
.visible .entry k(.param .u64 p0, .param .texref u) {
  .reg .b64 %rd<6>; .reg .f32 %f<8>; ld.param.u64 %rd1,[p0]; mov.f32 %f1,0f3f800000;
  tex.1d.v4.f32.f32 {%f2,%f3,%f4,%f5},[t,filter,{%f1}]; tex.1d.v4.f32.f32 {%f3,%f4,%f5,%f6},[u,filter,{%f1}];
  st.global.f32 [%rd1],%f2; st.global.f32 [%rd1+4],%f3; ret;
}
"""


def sections(data: bytes, text: str) -> list[tuple[str, int, int, int, int, bytes]]:
    """Name, type, flags, alignment, size and bytes of the Mercury sections (without relocations) with a text in their names."""
    file = ElfFile(data)
    assert file.flags & 0xFF == KIND_CAPSULE
    return [
        (s.name, s.type, s.flags, s.align, s.size, s.data)
        for s in file.sections
        if s.name.startswith(".nv.merc.") and ".rela" not in s.name and text in s.name
    ]


@pytest.mark.parametrize("text", [POINTERS, TWO_KERNELS])
def test_pointers_in_executables(tmp_path: Path, text: str) -> None:
    """Addresses in code, in initial values and in the table of a kernel have the Mercury relocations of ptxas."""
    ours = compiled(with_head(text, "sm_100"), "sm_100", "require", objects=False).data
    theirs = compile_ptx(tmp_path, text, "sm_100")
    assert relocation_types(ours) == relocation_types(theirs)
    assert sections(ours, ".constant.optimizer") == sections(theirs, ".constant.optimizer")


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize(("text", "mode"), [(REFERENCES, ""), (SAMPLERS, ", texmode_independent")])
def test_references(tmp_path: Path, text: str, mode: str, objects: bool) -> None:
    """Handles of textures, samplers and surfaces are in a section of their own; in objects each load of one has a relocation."""
    whole = with_head(text, "sm_100").replace(".target sm_100", f".target sm_100{mode}")
    ours = compiled(whole, "sm_100", "require", objects=objects).data
    (tmp_path / "t.ptx").write_text(whole)
    command = [
        tool("ptxas"),
        "-arch=sm_100",
        *(["-c"] if objects else []),
        str(tmp_path / "t.ptx"),
        "-o",
        str(tmp_path / "t"),
    ]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    theirs = (tmp_path / "t").read_bytes()
    assert set(relocation_types(ours)) == set(relocation_types(theirs))
    assert sections(ours, "image_header") == sections(theirs, "image_header")
    assert bool(sections(ours, "image_header")) != objects
    records = [nvinfo.decode(s[-1]) for x in (ours, theirs) for s in sections(x, ".nv.info.k")]
    assert [[r.code for r in x] for x in records[:1]] == [[r.code for r in x] for x in records[1:]]
    if objects:
        before = instructions(ours, ".text.k")
        # Where two results that are late share a scoreboard, nvlink waits for the first of them by its count.
        after = [x for x in instructions(finalised(ours, "sm_100", tmp_path), ".text.k") if x[1] != "DEPBAR.LE"]
        read = [(a[3][0], b[3][0]) for a, b in zip(before, after, strict=True) if a != b]
        assert [const_bank(b) for _, b in read] == [0] * len(read)
        places = sorted({const_offset(b) for _, b in read})
        assert places == [0x390 + 4 * k for k in range(len(places))]


def texture_changes(arch: str, step: int, folder: Path) -> list[str]:
    chosen = texture_programs()[::step]
    ours = compiled(texture_module(arch, chosen).replace(".version 8.7", ".version 9.0"), arch, "require").data
    return changes(ours, finalised(ours, arch, folder))


def test_texture_instructions(tmp_path: Path) -> None:
    """Texture instructions have rules, and nvlink gives them back."""
    assert not texture_changes("sm_120", 17, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_texture_instructions_sweep(tmp_path: Path, arch: str) -> None:
    assert not texture_changes(arch, 3, tmp_path)


def test_calls_of_the_driver() -> None:
    """The place of the call and the return address (LEPC, which nvlink moves with its target) are those of the Mercury form."""
    result = compiled(with_head(PRINTF, "sm_100"), "sm_100", "require", objects=False)
    records = [r for s in sections(result.data, ".nv.info.k") for r in nvinfo.decode(s[-1])]
    assert [len(r.payload) for r in records if r.code == nvinfo.SYSCALL_OFFSETS] == [4]
    assert "7\n" in load_image(result.data).launch("k", 1, 1, [np.full(1, 7, np.uint32)]).output


@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_extensible_whole_programs(tmp_path: Path, arch: str) -> None:
    """nvlink finalises them as objects."""
    options = Options(arch, 3)
    options.extensible, options.capsules = True, "require"
    ours = compile_text([("a.ptx", with_head(EXTENSIBLE, arch))], options).data
    theirs = compile_ptx(tmp_path, EXTENSIBLE, arch, "-ewp")
    assert relocation_types(ours) == relocation_types(theirs)
    out = np.zeros(16, np.uint32)
    load_image(finalised(ours, arch, tmp_path, "a.cubin")).launch("k", 1, 16, [out])
    assert out.tolist() == [i * i + 1 + 5 + 3 for i in range(16)]


def debug_cubin(name: str, arch: str, objects: bool) -> bytes:
    options = Options(arch, 0)
    options.debug, options.compile_only, options.capsules = True, objects, "require"
    return compile_text([("a.ptx", debug_text(name, arch))], options).data


def debug_text(name: str, arch: str) -> str:
    return text_of(name).replace(".target sm_80", f".target {arch}").replace(".target sm_90", f".target {arch}")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("name", ["calls", "types"])
def test_debug_information(tmp_path: Path, name: str, objects: bool) -> None:
    """Debug sections have Mercury twins with the names and relocations of ptxas's; offsets in tables of registers are Mercury ones."""
    ours = debug_cubin(name, "sm_100", objects)
    (tmp_path / "d.ptx").write_text(debug_text(name, "sm_100"))
    command = [
        tool("ptxas"),
        "-g",
        "-arch=sm_100",
        *(["-c"] if objects else []),
        str(tmp_path / "d.ptx"),
        "-o",
        str(tmp_path / "d"),
    ]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    theirs = (tmp_path / "d").read_bytes()
    names = [[s[0].partition("txt")[0] for s in sections(x, "debug")] for x in (ours, theirs)]
    assert names[0] == names[1]
    types = [{n: t for n, t in relocation_types(x).items() if "debug" in n} for x in (ours, theirs)]
    assert types[0] == types[1]
    code = {s.name: s.data for s in ElfFile(ours).sections}
    plain, moved = code[".nv_debug_info_reg_sass"], code[".nv.merc.nv_debug_info_reg_sass"]
    assert len(plain) == len(moved)
    assert plain != moved


@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_debug_objects_finalise(tmp_path: Path, arch: str) -> None:
    """With debug information, too, the finalised code does what the executable does (nvlink adds barriers for errors before EXIT)."""
    assert run_calls(finalised(debug_cubin("calls", arch, True), arch, tmp_path)) == run_calls(
        debug_cubin("calls", arch, False)
    )
