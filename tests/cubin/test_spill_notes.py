"""Notes on spills (ANNOTATIONS), which disassemblers show: a note for each store and load of a spilled value, as ptxas has them."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.nvinfo import ANNOTATIONS, NAMES, decode, notes_of
from orias.cubin.reader import Reader
from tests.nvtools import LIMIT_S, tool

VALUES = 60
HEAD = ".version 8.7\n.target sm_75\n.address_size 64\n"


def kernel(pragma: str = "") -> str:
    """A kernel with more values than its 32 registers hold."""
    lines = [f".visible .entry k(.param .u64 p) .maxntid 128, 1, 1 .maxnreg 32 {{ {pragma}"]
    lines += [f".reg .b64 %rd; .reg .f32 %f<{VALUES}>;", "ld.param.u64 %rd, [p];"]
    lines += [f"ld.global.f32 %f{i}, [%rd+{4 * i}];" for i in range(VALUES)] + ["bar.sync 0;"]
    lines += [f"mul.f32 %f{i}, %f{i}, %f{(7 * i + 3) % VALUES};" for i in range(VALUES)]
    lines += [f"st.global.f32 [%rd+{4 * i + 1024}], %f{i};" for i in range(VALUES)]
    return HEAD + "\n".join([*lines, "ret; }", ""])


FUNCTION = HEAD + "\n".join(
    [
        ".visible .func f(.param .u64 p) {",
        ".reg .b64 %rd; .reg .b32 %r<40>; ld.param.u64 %rd, [p];",
        *(f"ld.u32 %r{i}, [%rd+{4 * i}];" for i in range(40)),
        "{ .param .b64 a; st.param.b64 [a], %rd; call f, (a); }",
        *(f"st.u32 [%rd+{4 * i}], %r{i};" for i in range(40)),
        "ret; }",
        "",
    ]
)
"""A function that keeps values in registers over a call, which it saves."""


def notes(data: bytes, section: str) -> tuple[list[int], list[str]]:
    """The addresses of spills in a section of records, and the names of all records."""
    found = next(s for s in ElfFile(data).sections if s.name == section)
    records = decode(found.data, section)
    spills = [at for r in records if r.code == ANNOTATIONS for at in notes_of(r.words())[0]]
    return spills, [NAMES.get(r.code, "") for r in records]


def theirs(text: str, arch: str, options: list[str], folder: Path) -> bytes:
    (folder / "k.ptx").write_text(text)
    command = [tool("ptxas"), f"-arch={arch}", *options, "k.ptx", "-o", "k.cubin"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)
    return (folder / "k.cubin").read_bytes()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("pragma", ["", '.pragma "enable_smem_spilling";'])
def test_each_spill_is_noted(arch: str, pragma: str, tmp_path: Path) -> None:
    compiled = orias.compile(kernel(pragma), arch=arch)
    spills, order = notes(compiled.data, ".nv.info.k")
    (tmp_path / "k.cubin").write_bytes(compiled.data)
    command = [tool("nvdisasm"), "-c", "k.cubin"]
    listing = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout
    marked = [line for line in listing.splitlines() if "SpillRefill" in line]
    accesses = [x for x in listing.splitlines() if any(f" {op} " in x for op in ("STL", "LDL", "LDL.LU", "STL.64", "LDL.64", "STS", "LDS"))]  # fmt: skip
    assert len(spills) == len(marked) == len(accesses) > 0
    assert compiled.kernels["k"].spill_stores > 0
    _, expected = notes(theirs(kernel(pragma), arch, [], tmp_path), ".nv.info.k")
    assert order == expected
    assert Reader(compiled.data).kernels["k"].spill_offsets == spills


def test_the_scratch_part_of_shared_memory_is_stated(tmp_path: Path) -> None:
    """SHARED_SCRATCH: the bytes after the variables, with those that align the rows."""
    text = kernel('.shared .align 4 .b8 v[100]; .pragma "enable_smem_spilling";')
    text = text.replace("bar.sync 0;", "st.shared.f32 [v], %f1; bar.sync 0;")
    data = orias.compile(text, arch="sm_80").data
    scratch = Reader(data).kernels["k"].shared_scratch
    assert scratch == Reader(theirs(text, "sm_80", [], tmp_path)).kernels["k"].shared_scratch
    section = next(s for s in ElfFile(data).sections if s.name == ".nv.shared.k")
    assert section.size == 100 + scratch


def test_capsules_note_spills_at_their_own_places(tmp_path: Path) -> None:
    """In ptxas's files the place in a capsule follows from that in the code, as that of EXIT does."""
    data = orias.compile(kernel(), arch="sm_100").data
    plain, _ = notes(data, ".nv.info.k")
    merc, _ = notes(data, ".nv.merc.nv.info.k")
    assert len(plain) == len(merc)
    assert merc == sorted(merc)
    assert all(m >= p for m, p in zip(merc, plain, strict=True))


def test_saved_registers_are_not_noted(tmp_path: Path) -> None:
    for data in (orias.compile(FUNCTION, arch="sm_80", compile_only=True).data, theirs(FUNCTION, "sm_80", ["-c"], tmp_path)):  # fmt: skip
        spills, order = notes(data, ".nv.info.f")
        assert not spills
        assert "ANNOTATIONS" not in order
