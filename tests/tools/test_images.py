"""Cubins inside other files, bare code, line comments, JSON, colours."""

import builtins
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from orias.cubin.cubin_error import CubinError
from orias.cubin.fatbin import KIND_CUBIN, KIND_PTX, cubins, entries
from orias.cubin.lz4 import decompress
from orias.tools.disassemble import Style, disassemble, disassemble_raw
from orias.tools.structured import code_of
from tests.cubin.test_hostile import sample
from tests.nvtools import LIMIT_S, tool


def entry(kind: int, payload: bytes, flags: int, packed: int, unpacked: int) -> bytes:
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), packed, 0, 0, 0, 90, 0, 0, flags, 0, unpacked)
    return head + payload


def fatbin(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def literal_block(data: bytes) -> bytes:
    """An LZ4 block of literals only."""
    n = len(data) - 15
    return bytes([0xF0]) + b"\xff" * (n // 255) + bytes([n % 255]) + data


def test_plain_and_lz4_entries() -> None:
    cubin = sample("sm_90")
    block = literal_block(cubin)
    data = b"\x7fELF host file" + fatbin(
        entry(KIND_CUBIN, cubin, 0x11, 0, 0),
        entry(KIND_PTX, b"// ptx", 0x11, 0, 0),
        entry(KIND_CUBIN, block + bytes(-len(block) % 8), 0x2011, len(block), len(cubin)),
    )
    assert [e.kind for e in entries(data)] == [KIND_CUBIN, KIND_PTX, KIND_CUBIN]
    assert cubins(data) == [("cubin.sm_90", cubin), ("cubin.sm_90", cubin)]
    assert cubins(cubin) == [("", cubin)]


def test_lz4_matches_overlap() -> None:
    # "abc", a match of 7 at distance 3, the literals "xyz!!"
    assert decompress(b"\x33abc\x03\x00\x50xyz!!", 15) == b"abcabcabcaxyz!!"


@pytest.mark.parametrize("block", [b"", b"\xf0", b"\x33abc\x09\x00\x50xyz!!", b"\x33abc\x03", b"\x50xyz!!"])
def test_damaged_lz4(block: bytes) -> None:
    with pytest.raises(CubinError, match="LZ4"):
        decompress(block, 15)


def test_damaged_fatbins_end_in_an_error() -> None:
    good = fatbin(entry(KIND_CUBIN, sample("sm_90"), 0x11, 0, 0))
    for cut in range(16, 90):
        bad = good[:8] + struct.pack("<Q", cut - 16) + good[16:cut]
        with pytest.raises(CubinError):
            cubins(bad)
    with pytest.raises(CubinError, match="neither"):
        cubins(b"nothing")


def test_zstd_without_the_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: object) -> object:
        if name == "zstandard":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.delitem(sys.modules, "zstandard", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(CubinError, match="orias\\[zstd\\]"):
        cubins(fatbin(entry(KIND_CUBIN, b"\x28\xb5\x2f\xfd", 0x8011, 4, 10)))


def test_zstd() -> None:
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    cubin = sample("sm_90")
    packed = zstandard.ZstdCompressor().compress(cubin)
    data = fatbin(entry(KIND_CUBIN, packed + bytes(-len(packed) % 8), 0x8011, len(packed), len(cubin)))
    assert cubins(data) == [("cubin.sm_90", cubin)]
    with pytest.raises(CubinError, match="zstd"):
        cubins(fatbin(entry(KIND_CUBIN, packed[:20], 0x8011, 20, len(cubin))))


@pytest.mark.parametrize("mode", ["size", "none"])
def test_fatbinary_of_the_toolkit(mode: str, tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    cubin = tmp_path / "a.cubin"
    cubin.write_bytes(sample("sm_90"))
    out = tmp_path / "a.fatbin"
    command = [
        tool("fatbinary"),
        "-64",
        f"--compress-mode={mode}",
        f"--image3=kind=elf,sm=90,file={cubin}",
        f"--create={out}",
    ]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    assert [d for _, d in cubins(out.read_bytes())] == [cubin.read_bytes()]


LINES = """
.version 8.0
.target sm_75
.address_size 64
.file 1 "/src/k.cu"
.visible .entry k(.param .u64 p) {
  .reg .u64 a; .reg .u32 b;
  .loc 1 10 3
  ld.param.u64 a, [p]; ld.global.u32 b, [a];
  .loc 1 20 5, function_name $L__info0, inlined_at 1 10 3
  mul.lo.u32 b, b, b;
  .loc 1 12 1
  st.global.u32 [a], b; ret;
}
.section .debug_str { $L__info0: .b8 102, 0 }
"""


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("option", ["g", "gi", "gp"])
def test_source_lines(option: str, tmp_path: Path) -> None:
    source = tmp_path / "a.ptx"
    source.write_text(LINES)
    out = tmp_path / "a.cubin"
    command = [tool("ptxas"), "-arch=sm_80", "-lineinfo", str(source), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    command = [tool("nvdisasm"), "-c", f"-{option}", str(out)]
    theirs = subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True, text=True).stdout
    assert theirs.count("//##") > 1
    assert disassemble(out.read_bytes(), lines=option) == theirs


def test_bare_code(tmp_path: Path) -> None:
    code = b"".join(
        w.to_bytes(16, "little") for w in (0x000FC20000000F00000000FF05057624, 0x000FC000000000000000000000007918)
    )
    path = tmp_path / "code"
    path.write_bytes(code)
    for extra in ([], ["-hex"]):
        command = [tool("nvdisasm"), "-b", "SM80", *extra, "-base", "0x100", str(path)]
        theirs = subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True, text=True).stdout
        assert disassemble_raw(code, "SM80", 0x100, Style(hex_words=bool(extra))) == theirs
    with pytest.raises(ValueError, match="whole number"):
        disassemble_raw(code[:-1], "SM80")
    with pytest.raises(KeyError, match="SM70"):
        disassemble_raw(code, "SM70")


def test_json() -> None:
    found = json.loads(json.dumps(code_of(sample("sm_90"))))
    assert found["target"] == "sm_90"
    section = found["sections"][0]
    assert section["symbols"][0]["entry"] is True
    first = section["instructions"][0]
    assert (first["operation"], first["guard"], first["operands"]) == ("EXIT", "", [])
    assert first["control"]["wait"] == []


def orias(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orias", "dis", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.fatbin"
    path.write_bytes(
        fatbin(entry(KIND_CUBIN, sample("sm_90"), 0x11, 0, 0), entry(KIND_CUBIN, sample("sm_80"), 0x11, 0, 0))
    )
    assert [row.split(":")[1].split(",")[0].strip() for row in orias("--list", str(path)).stdout.splitlines()] == [
        "sm_90",
        "sm_80",
    ]
    assert "\t.target\tsm_80" in orias("--arch", "sm_80", str(path)).stdout
    assert "\x1b[" in orias("--color", "--arch", "sm_80", str(path)).stdout
    wrong = orias("--arch", "sm_75", str(path))
    assert wrong.returncode == 255
    assert "there is no cubin for sm_75" in wrong.stderr
    assert "unknown option '--colour'" in orias("--colour", str(path)).stderr
    assert "no instruction table for SM42" in orias("-b", "SM42", str(path)).stderr


def test_words_that_are_none_name_their_bits() -> None:
    found = disassemble_raw((0x123).to_bytes(16, "little"), "SM90")
    assert ".quad 0x123, 0x0 // sm_90: " in found
    assert "no operation has bits 0..11 = 0x123 with bit 91 = 0" in found
    stall = disassemble_raw((0x7918 | 30 << 105 | 63 << 110).to_bytes(16, "little"), "SM90")
    assert "stall count 14 does not go with the yield bit" in stall
    fields = disassemble_raw(0x000FC1F06D05C8189450085B63A029A5.to_bytes(16, "little"), "SM90")
    assert "no form of LDGMC has these values in bits 79" in fields
