"""The sm_87 prologue, instruction by instruction compared with ptxas's."""

import subprocess
from pathlib import Path

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "saxpy.ptx"
COUNT = 20
CONTROL = (1 << 21) - 1 << 105


def words(data: bytes) -> list[int]:
    text = next(s.data for s in ElfFile(data).sections if s.name == ".text.saxpy")
    return [int.from_bytes(text[i : i + 16], "little") & ~CONTROL for i in range(0, 16 * COUNT, 16)]


def test_same_instructions_as_ptxas(tmp_path: Path) -> None:
    out = tmp_path / "k.cubin"
    subprocess.run([tool("ptxas"), "-arch=sm_87", str(EXAMPLE), "-o", str(out)], check=True, timeout=LIMIT_S)
    theirs = words(out.read_bytes())
    for level in (0, 3):
        assert words(orias.compile(EXAMPLE.read_text(), arch="sm_87", opt_level=level).data) == theirs


def test_other_targets_have_none() -> None:
    assert "BMOV" not in orias.compile(EXAMPLE.read_text(), arch="sm_86").disassemble()
