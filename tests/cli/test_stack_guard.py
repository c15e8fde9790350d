"""-device-stack-protector: which functions get a guard, and what it does, beside ptxas."""

import subprocess
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import orias
from orias import sim
from orias.cli.main import run
from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import FRAME_SIZE, STACK_CANARY_TRAP_OFFSETS, decode
from orias.sim.core.sim_errors import Trap
from tests.nvtools import LIMIT_S, tool
from tests.rotation import LATER, rotating

ARCHES: Final = ("sm_75", "sm_80", "sm_90", *rotating(list(LATER), 2, "stack guards"))
OPTION: Final = ("-device-stack-protector", "true")
THRESHOLD: Final = "--device-stack-protector-frame-size-threshold"
KERNEL: Final = """.visible .entry k(.param .u64 p) { .reg .b64 %d<5>; .reg .b32 %r<4>; .local .align 4 .b8 own[64];
ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
mov.u64 %d2, own; and.b32 %r3, %r1, 15; mul.wide.u32 %d3, %r3, 4; add.u64 %d2, %d2, %d3; st.local.u32 [%d2], %r1; ld.local.u32 %r3, [own+4]; st.global.u32 [%d1+4], %r3;
{ .param .u32 q; .param .u64 s; .param .u32 z; st.param.u32 [q], %r1; st.param.u64 [s], %d1; call (z), f, (q, s); ld.param.u32 %r2, [z]; }
st.global.u32 [%d1+4], %r2; ret; }
"""
WRITE: Final = """mov.u64 %d2, room; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3; st.local.u32 [%d2], %r1;
ld.local.u32 %r2, [room+8]; st.global.u32 [%d1+8], %r2; st.param.u32 [r], %r2;"""


def function(local: str, body: str, name: str = "f") -> str:
    return f""".visible .func (.param .u32 r) {name}(.param .u32 n, .param .u64 s) {{ .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<4>; {local}
ld.param.u32 %r1, [n]; ld.param.u64 %d1, [s]; {body} ret; }}
"""


CALL: Final = """{ .param .u32 q; .param .u64 t; .param .u32 z; st.param.u32 [q], %r1; st.param.u64 [t], %d1; call (z), g, (q, t); ld.param.u32 %r4, [z]; }
add.u32 %r5, %r4, %r1; st.global.u32 [%d1+12], %r5;"""
ELSEWHERE: Final = ".extern .func (.param .u32 r) g(.param .u32 n, .param .u64 s);\n"
FRAMES: Final = {
    "array": function(".local .align 4 .b8 room[64];", WRITE),
    "few bytes": function(".local .align 4 .b8 room[12];", WRITE),
    "just enough": function(".local .align 4 .b8 room[16];", WRITE),
    "in registers": function(".local .align 4 .b8 room[64];", "st.local.u32 [room+8], %r1; ld.local.u32 %r2, [room+8]; st.param.u32 [r], %r2;"),
    "two": function(".local .align 4 .b8 room[12]; .local .align 4 .b8 more[4];", WRITE.replace("room;", "more;", 1) + WRITE),
    "padding": function(".local .b8 more[5]; .local .align 8 .b8 room[8];", WRITE.replace("+8]", "+4]", 1) + "mov.u64 %d5, more; add.u64 %d5, %d5, %d3; st.local.u8 [%d5], %r1;"),
    "call": ELSEWHERE + function(".local .align 4 .b8 room[64];", WRITE + CALL),
    "no array": ELSEWHERE + function("", CALL + "st.param.u32 [r], %r5;"),
    "two returns": function(".local .align 4 .b8 room[64];", "setp.gt.u32 %p1, %r1, 9; @%p1 bra A; " + WRITE + "ret; A: st.global.u32 [%d1], 7; st.param.u32 [r], 5;"),
    "exit": function(".local .align 4 .b8 room[64];", WRITE + "setp.gt.u32 %p1, %r1, 9; @%p1 exit; st.global.u32 [%d1+16], 7;"),
    "alloca": function("", "alloca.u64 %d2, 64; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3; st.local.u32 [%d2], %r1; ld.local.u32 %r2, [%d2+8]; st.param.u32 [r], %r2;"),
    "kernel": ".visible .entry f(.param .u64 s) { .reg .b64 %d<9>; .reg .b32 %r<9>; .local .align 4 .b8 room[64]; ld.param.u64 %d1, [s]; mov.u32 %r1, %tid.x;\n"
    + WRITE.replace("st.param.u32 [r], %r2;", "")
    + "ret; }\n",
}  # fmt: skip


def compiled(folder: Path, program: str, arch: str, text: str, *options: str) -> bytes:
    """A cubin of Orias or of ptxas, by name."""
    source, out = folder / "k.ptx", folder / "k.cubin"
    source.write_text(f".version 9.0\n.target {arch}\n.address_size 64\n{text}")
    line = [f"-arch={arch}", *options, str(source), "-o", str(out)]
    if program == "orias":
        assert run(["orias", *line]) == 0
    else:
        subprocess.run([tool("ptxas"), *line], check=True, timeout=LIMIT_S, capture_output=True)
    return out.read_bytes()


def guards(data: bytes) -> tuple[int, int]:
    """Frame size of the function f, and the number of its traps."""
    file = ElfFile(data)
    records = {s.name: decode(s.data, s.name) for s in file.sections if s.name in (".nv.info", ".nv.info.f")}
    frames = [r.words() for r in records[".nv.info"] if r.code == FRAME_SIZE]
    size = next(words[1] for words in frames if file.symbols[words[0]].name == "f")
    return size, sum(len(r.words()) for r in records[".nv.info.f"] if r.code == STACK_CANARY_TRAP_OFFSETS)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", FRAMES)
def test_functions_that_ptxas_guards(name: str, arch: str, tmp_path: Path) -> None:
    ours, plain, theirs, unguarded = (
        guards(compiled(tmp_path, program, arch, FRAMES[name], "-c", *options))
        for program in ("orias", "ptxas")
        for options in (OPTION, ())
    )
    assert ours[1] == theirs[1]
    # Without a guard, an array that becomes registers has no frame.
    assert (ours[0] - plain[0] in (0, 8, 16) or not plain[0]) and (ours[0] > plain[0]) == (
        theirs[0] > unguarded[0]
    ) == bool(ours[1])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("limit", [1, 8, 17, 64, 65])
def test_least_size(limit: int, tmp_path: Path) -> None:
    for name in ("array", "few bytes", "just enough", "no array"):
        ours, theirs = (guards(compiled(tmp_path, p, "sm_80", FRAMES[name], "-c", *OPTION, THRESHOLD, str(limit))) for p in ("orias", "ptxas"))  # fmt: skip
        assert ours[1] == theirs[1], name


@pytest.mark.parametrize(("options", "guarded"), [([], 0), (["-O0"], 0), (["-ewp"], 0), (["-g"], 1), (["--cloning=no"], 1), (["-c", "-O0"], 1), (["-c", "-g"], 1), (["-c", "-sp-bounds-check"], 1)])  # fmt: skip
def test_kinds_of_files(options: list[str], guarded: int, tmp_path: Path) -> None:
    for program in ("orias", "ptxas"):
        data = compiled(tmp_path, program, "sm_80", FRAMES["array"] + KERNEL, *OPTION, *options)
        info = next((s for s in ElfFile(data).sections if s.name == ".nv.info.f"), None)
        found = [r for r in decode(info.data, info.name) if r.code == STACK_CANARY_TRAP_OFFSETS] if info else []
        assert len(found) == guarded, program


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("options", [["-c"], ["-c", "-O0"], ["-c", "-O1"], ["-g"], ["--cloning=no"]])
@pytest.mark.parametrize("program", ["orias", "ptxas"])
def test_overwritten_frames_trap(program: str, options: list[str], arch: str, tmp_path: Path) -> None:
    """Writes into the array pass, one above it traps; without the option nothing does."""
    guarded = compiled(tmp_path, program, arch, FRAMES["array"] + KERNEL, *OPTION, *options)
    for place in (0, 2, 15):
        data = np.array([place, 0, 0, 0], np.uint32)
        sim.load(guarded).launch("k", 1, 1, [data])
        if place == 2:
            assert list(data) == [2, 2, 2, 0]
    for place in (16, 17):
        with pytest.raises(Trap):
            sim.load(guarded).launch("k", 1, 1, [np.array([place, 0, 0, 0], np.uint32)])
    plain = compiled(tmp_path, program, arch, FRAMES["array"] + KERNEL, "-c")
    sim.load(plain).launch("k", 1, 1, [np.array([16, 0, 0, 0], np.uint32)])


def test_saved_registers_are_above_the_guard(tmp_path: Path) -> None:
    """A function that calls another: an overflow traps before it returns to a wrong place."""
    text = (
        function("", "add.u32 %r2, %r1, 1; st.param.u32 [r], %r2;", "g")
        + FRAMES["call"].replace(ELSEWHERE, "")
        + KERNEL
    )
    for arch in ("sm_80", "sm_90", "sm_100a"):
        image = sim.load(compiled(tmp_path, "orias", arch, text, "-c", *OPTION))
        data = np.array([3, 0, 0, 0], np.uint32)
        image.launch("k", 1, 1, [data])
        assert int(data[3]) == 7
        with pytest.raises(Trap):
            image.launch("k", 1, 1, [np.array([16, 0, 0, 0], np.uint32)])


@pytest.mark.parametrize("program", ["orias", "ptxas"])
def test_blocks_of_alloca(program: str, tmp_path: Path) -> None:
    """The guard lies above what alloca allots."""
    for arch in ("sm_80", "sm_90", "sm_100a"):
        image = sim.load(compiled(tmp_path, program, arch, FRAMES["alloca"] + KERNEL, "-c", *OPTION))
        for place in (0, 2, 15):
            image.launch("k", 1, 1, [np.array([place, 0, 0, 0], np.uint32)])
        with pytest.raises(Trap):
            image.launch("k", 1, 1, [np.array([16, 0, 0, 0], np.uint32)])


def test_from_python() -> None:
    text = f".version 8.8\n.target sm_80\n.address_size 64\n{FRAMES['array']}"
    assert guards(orias.compile(text, arch="sm_80", compile_only=True, stack_guard=16).data)[1] == 1
    assert guards(orias.compile(text, arch="sm_80", compile_only=True).data)[1] == 0
