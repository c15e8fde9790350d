"""Capsules: the reader understands every byte of those that ptxas writes, and says what is wrong with damaged ones."""

import random
import subprocess
from pathlib import Path
from struct import pack

import pytest

from orias.cli.main import run as run_line
from orias.cubin.capsule.capsule_parser import SHT_CUDA_CAPSULE, capsules, parse_items
from orias.cubin.capsule.items import FILLER, HEAD, PSEUDO, SAME, WHOLE, Capsule
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile
from orias.tools.capsule_listing import capsule_listing
from tests.corpus.test_corpus import needs_objects
from tests.cubin.ptx_cases import CASES
from tests.cubin.test_hostile import sample
from tests.cubin.test_roundtrip import compile_ptx
from tests.nvtools import LIMIT_S, tool
from tests.ptx.corpus import small_files
from tests.rotation import rotating

ARCHES = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
ATOMIC = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.u64 %rd1,[p0]; atom.acq_rel.gpu.global.add.u32 %r2,[%rd1+4],1; st.global.u32 [%rd1+8],%r2; ret;
}
"""


def code_sections(file: ElfFile) -> list[str]:
    return sorted(s.name for s in file.sections if s.name.startswith(".text."))


def corpus_capsules(path: Path, arch: str, folder: Path) -> list[Capsule]:
    """The capsules of ptxas's cubin, one for each function; none if ptxas refuses the file."""
    out = folder / "a.cubin"
    option = ["-c"] if needs_objects(path.read_text(errors="replace")) else []
    command = [tool("ptxas"), f"-arch={arch}", *option, str(path), "-o", str(out)]
    if subprocess.run(command, capture_output=True, timeout=LIMIT_S).returncode:
        return []
    file = ElfFile(out.read_bytes())
    found = capsules(file)
    assert sorted(c.text for c in found) == code_sections(file)
    return found


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("case", rotating(sorted(set(CASES) - {"texture"}), 2, "capsules"))
def test_small_modules(tmp_path: Path, case: str, arch: str) -> None:
    for options in ((), ("-c",)):
        data = compile_ptx(tmp_path, CASES[case], arch, *options)
        file = ElfFile(data)
        assert sorted(c.text for c in capsules(file)) == code_sections(file)
        assert f"// {arch}, low byte of e_flags 2" in capsule_listing(data)


@pytest.mark.parametrize("arch", rotating(ARCHES, 2, "capsules of the corpus"))
def test_corpus_sample(tmp_path: Path, arch: str) -> None:
    for path in rotating(small_files(arch), 4, f"capsules {arch}"):
        corpus_capsules(path, arch, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ARCHES)
def test_corpus_sweep(tmp_path: Path, arch: str) -> None:
    functions = sum(
        len(corpus_capsules(path, arch, tmp_path))
        for path in rotating(small_files(arch), 120, f"sweep of capsules {arch}")
    )
    assert functions >= 100  # nearly every file has one at least, some have twenty


def test_kinds_of_items(tmp_path: Path) -> None:
    data = compile_ptx(tmp_path, ATOMIC, "sm_100a")
    (found,) = capsules(ElfFile(data))
    words = [(i.kind, i.words, i.units()) for i in found.items]
    assert (WHOLE, 5, 2) in words  # the atomic with its fences
    assert words[-1][0] == FILLER
    assert {k for k, _, _ in words} == {SAME, WHOLE, FILLER}
    listing = capsule_listing(data)
    assert "parameters+0x0" in listing
    assert "value=stack pointer" in listing
    assert "MERCURY_FINALIZER_OPTIONS" in listing


def test_records() -> None:
    whole, head, pseudo = bytes([1, 0x0B, 4, 10]) + bytes(12), bytes([0x41, 0x25, 1, 2]), bytes([0x31]) + bytes(15)
    group, filler = pack("<H", 5 << 7 | 0x51), pack("<H", 9 << 7 | 0x50)
    records = whole + head + pseudo + group + whole + filler
    items, end = parse_items(pack("<IIII", 0, 0xC0000001, 6, 1) + records, 6, "x")
    assert end == 16 + len(records)
    assert [(i.kind, i.first, i.words) for i in items] == [
        (SAME, 0, 1), (WHOLE, 1, 1), (HEAD, 2, 1), (PSEUDO, 3, 0), (WHOLE, 3, 5), (FILLER, 8, 9),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bitmap", "records", "message"),
    [
        (b"", b"", "the bitmap of 1 items does not fit"),
        (pack("<I", 3), b"", "the bitmap has a bit for item 1"),
        (pack("<I", 0), b"", "is beyond the end"),
        (pack("<I", 0), b"\x02" + bytes(20), "needs 32 bytes, but 21 are left"),
        (pack("<I", 0), b"\x30" + bytes(40), "unknown token 0x30"),
        (pack("<I", 0), b"\x40" + bytes(40), "unknown token 0x40"),
        (pack("<I", 0), b"\x00" + bytes(40), "unknown token 0x0"),
        (pack("<I", 0), b"\x50\x00", "stands for no instruction"),
        (pack("<I", 0), b"\xd1", "is beyond the end"),
    ],
)
def test_damaged_records(bitmap: bytes, records: bytes, message: str) -> None:
    with pytest.raises(CubinError, match=message):
        parse_items(pack("<III", 0, 0xC0000001, 1) + bitmap + records, 1, "x")


def with_section(data: bytes, new: bytes) -> bytes:
    """A cubin whose capsule is replaced (at the end of the file)."""
    file = ElfFile(data)
    (section,) = [s for s in file.sections if s.type == SHT_CUDA_CAPSULE]
    out = bytearray(data) + new
    at = int.from_bytes(data[40:48], "little") + 64 * section.index
    out[at + 24 : at + 40] = pack("<QQ", len(data), len(new))
    return bytes(out)


def test_damaged_capsules(tmp_path: Path) -> None:
    data = compile_ptx(tmp_path, ATOMIC, "sm_100a")
    (section,) = [s for s in ElfFile(data).sections if s.type == SHT_CUDA_CAPSULE]
    assert capsule_listing(with_section(data, section.data))
    damaged = [section.data[:n] for n in range(len(section.data))]
    damaged.append(section.data + b"\0")
    for new in damaged:
        with pytest.raises(CubinError, match=r"\.nv\.capmerc\.text\.k: ."):
            capsules(ElfFile(with_section(data, new)))
    rng = random.Random(3)
    for _ in range(300):
        spoiled = bytearray(section.data)
        for _ in range(rng.randrange(1, 5)):
            spoiled[rng.randrange(len(spoiled))] = rng.choice((0, 1, 0x50, 0x51, 0xFF, rng.randrange(256)))
        try:
            capsule_listing(with_section(data, bytes(spoiled)))
        except CubinError as e:
            assert str(e)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.cubin"
    path.write_bytes(sample("sm_90"))
    assert run_line(["orias", "dis", "--capsule", str(path)]) == 0
    assert "// no capsules" in capsys.readouterr().out
    path.write_bytes(b"\x7fELF" + bytes(100))
    assert run_line(["orias", "dis", "--capsule", str(path)]) != 0
    assert "a.cubin" in capsys.readouterr().err
