"""Unified functions and variables of objects: bytes beside ptxas's, links by an index of their numbers, and runs."""

import struct
import subprocess
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import orias
from orias import sim
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile, Section
from orias.tools.patch import patched_cubin
from tests.cubin.linking import compiled
from tests.cubin.test_cubin_records import PROGRAMS
from tests.nvtools import LIMIT_S, tool
from tools.compare_records import HEAD, features, judged

ARCHES: Final = ("sm_90", "sm_100a", "sm_110a", "sm_120a")
NAMES: Final = [name for name in PROGRAMS if name.startswith("unified_")]
WORD: Final = ".visible .global .attribute(.unified(19, 95)) .align 4 .u32 shared_word = 5;\n"
OTHER: Final = """.visible .func .attribute(.unified(5, 6)) (.param .u32 r) other(.param .u32 n) {
.reg .b32 %r<4>; ld.param.u32 %r1, [n]; ld.global.u32 %r2, [shared_word]; mad.lo.u32 %r1, %r1, 100, %r2; st.param.u32 [r], %r1; ret; }
"""
OTHER_ELSEWHERE: Final = ".extern .func .attribute(.unified(5, 6)) (.param .u32 r) other(.param .u32 n);\n"
CALLER: Final = """.func .attribute(.unified(1, 2)) (.param .u32 r) near(.param .u32 n) {
.reg .b32 %r<4>; ld.param.u32 %r1, [n]; mad.lo.u32 %r2, %r1, %r1, 3; st.param.u32 [r], %r2; ret; }
.global .attribute(.unified(20, 96)) .align 8 .u64 own[3] = {near, generic(shared_word), other};
.visible .entry k(.param .u64 p) {
.reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<2>;
ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d1, %d1, %d2;
{ .param .u32 q; .param .u32 z; st.param.u32 [q], %r1; call (z), other, (q); ld.param.u32 %r2, [z]; }
st.global.u32 [%d1], %r2; and.b32 %r3, %r1, 1; mul.wide.u32 %d2, %r3, 16; mov.u64 %d3, own; add.u64 %d2, %d3, %d2; ld.global.u64 %d4, [%d2];
{ .param .u32 q; .param .u32 z; st.param.u32 [q], %r2; t: .callprototype (.param .u32 _) _ (.param .u32 _);
  call (z), %d4, (q), t; ld.param.u32 %r4, [z]; }
st.global.u32 [%d1+4], %r4; ld.global.u64 %d5, [own+8]; ld.u32 %r5, [%d5]; st.global.u32 [%d1+8], %r5;
mov.u64 %d6, near; sub.u64 %d7, %d4, %d6; setp.eq.u64 %p1, %d7, 0; selp.u32 %r6, 1, 0, %p1; st.global.u32 [%d1+12], %r6; ret; }
"""
WANT: Final = [[(v := 100 * t + 5), v * v + 3 if t % 2 == 0 else 100 * v + 5, 5, 1 - t % 2] for t in range(8)]


def index(functions: list[tuple[int, int]], variables: list[tuple[int, int, int]], size: int) -> bytes:
    """The index file of a link: stubs of 128 bytes in this order, and variables with their places in `size` bytes."""
    head = struct.pack("<8sIIQQQQ", b"\x7fUFTINDX", 1, 0, 128 * len(functions), len(functions), size, len(variables))
    entries = [(*f, 128 * n) for n, f in enumerate(functions)] + variables
    return head + b"".join(struct.pack("<QQQ", *e) for e in entries)


def unified(data: bytes) -> list[tuple[object, ...]]:
    """The sections of what is unified: header fields and bytes; the entries with names for symbol numbers; and the call graph."""
    file = ElfFile(data)
    out: list[tuple[object, ...]] = []
    for s in file.sections:
        if s.name.startswith((".nv.uft", ".nv.udt")):
            out.append(
                (
                    s.name,
                    s.type,
                    s.flags,
                    s.align,
                    s.entsize,
                    _entries(file, s) if s.name.endswith(".entry") else s.data,
                )
            )
        elif s.name == ".nv.callgraph":
            out.append((s.name, s.data))
    return out


def _entries(file: ElfFile, s: Section) -> list[tuple[object, ...]]:
    rows = [struct.unpack_from("<IIQQQ", s.data, at) for at in range(0, s.size, 32)]
    return [(file.symbols[row[0]].name, *row[1:]) for row in rows]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", NAMES)
def test_sections_are_those_of_ptxas(name: str, arch: str, tmp_path: Path) -> None:
    text = HEAD.format(version="9.0", arch=arch) + PROGRAMS[name]["ptx"]
    theirs = judged(text, arch, "c", tmp_path)
    assert isinstance(theirs, bytes)
    ours = orias.compile(text, arch=arch, compile_only=True).data
    found, want = unified(ours), unified(theirs)
    if name == "unified_calls":
        # Calls of functions stand before those of all stubs.
        found, want = [x for x in found if x[0] != ".nv.callgraph"], [x for x in want if x[0] != ".nv.callgraph"]
    assert found == want
    assert [y.name for y in ElfFile(ours).symbols] == [y.name for y in ElfFile(theirs).symbols]
    assert features(ours) == features(theirs)


@pytest.mark.parametrize("options", [["-O0"], ["-g"]])
def test_stubs_of_level_0(options: list[str], tmp_path: Path) -> None:
    """The stubs; sections have another order there."""
    text = HEAD.format(version="9.0", arch="sm_90") + PROGRAMS["unified_linkage"]["ptx"]
    source, out = tmp_path / "k.ptx", tmp_path / "k.o"
    source.write_text(text)
    subprocess.run([tool("ptxas"), "-c", "-arch=sm_90", *options, str(source), "-o", str(out)], check=True, timeout=LIMIT_S, capture_output=True)  # fmt: skip
    ours = orias.compile(text, arch="sm_90", compile_only=True, opt_level=0, debug=options == ["-g"]).data
    want = {x[0]: x[1:] for x in unified(out.read_bytes()) if ".uft.rel." in str(x[0])}
    assert want
    assert {x[0]: x[1:] for x in unified(ours) if ".uft.rel." in str(x[0])} == want


def ran(data: bytes) -> list[list[int]]:
    out = np.zeros((8, 4), np.uint32)
    sim.load(data).launch("k", 1, 8, [out])
    return [[int(v) for v in row] for row in out]


@pytest.mark.parametrize("arch", ["sm_90", "sm_103a", "sm_120a"])
def test_links_run(arch: str, tmp_path: Path) -> None:
    """Objects of both compilers, linked with an index: calls by symbol, by pointer in a unified variable, across objects."""
    heads = HEAD.format(version="9.0", arch=arch)
    numbers = tmp_path / "index"
    numbers.write_bytes(index([(1, 2), (5, 6)], [(19, 95, 0), (20, 96, 8)], 32))
    for first in (False, True):
        for second in (False, True):
            objects = [
                compiled(heads + WORD + OTHER_ELSEWHERE + CALLER, arch, first, tmp_path / "a.o"),
                compiled(
                    heads + WORD.replace(".visible", ".extern").replace(" = 5", "") + OTHER,
                    arch,
                    second,
                    tmp_path / "b.o",
                ),
            ]
            out = tmp_path / "linked.cubin"
            command = [tool("nvlink"), f"-arch={arch}", "-uidx", str(numbers), *map(str, objects), "-o", str(out)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 0, done.stderr
            assert ran(out.read_bytes()) == WANT


@pytest.mark.parametrize("ours", [False, True])
def test_objects_run(ours: bool, tmp_path: Path) -> None:
    text = HEAD.format(version="9.0", arch="sm_90") + WORD + OTHER + CALLER
    assert ran(compiled(text, "sm_90", ours, tmp_path / "k.o").read_bytes()) == WANT


@pytest.mark.parametrize(
    "attribute", [".unified", ".unified()", ".unified(1)", ".unified(1, 2, 3)", ".unified(1, 2), .unified(3, 4)"]
)
def test_two_numbers(attribute: str, tmp_path: Path) -> None:
    """The attribute of a function: as ptxas, which takes no other number of numbers, nor two attributes."""
    text = HEAD.format(version="9.0", arch="sm_90") + f".visible .func .attribute({attribute}) f() {{ ret; }}\n"
    assert isinstance(judged(text, "sm_90", "c", tmp_path), str)
    with pytest.raises(orias.CompileError, match="syntax error"):
        orias.compile(text, arch="sm_90", compile_only=True)


def test_listings_do_not_patch_them() -> None:
    text = HEAD.format(version="9.0", arch="sm_90") + PROGRAMS["unified_alone"]["ptx"]
    with pytest.raises(CubinError, match="unified"):
        patched_cubin("", orias.compile(text, arch="sm_90", compile_only=True).data)
