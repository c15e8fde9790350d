"""Constant expressions of initialisers: messages and bytes are those of ptxas."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool
from tests.ptx.test_alone import _MESSAGE

_HEAD = ".version 8.3\n.target sm_80\n.address_size 64\n"
_KERNEL = "\n.visible .entry k() { ret; }\n"
EXPRESSIONS = (
    ("b64", "-8 % 5"), ("b64", "-8 % -5"), ("b64", "8 % -5"), ("b64", "-8 / 5"), ("b64", "(-1 % 7) >> 60"), ("b64", "2 < (8 % 5) - 5"),
    ("b16", "2 < ~(1 < 2)"), ("b64", "(~0) / 2"), ("b64", "2 < ~WARP_SZ"), ("b64", "2 < -(1 < 2)"), ("b64", "2 < ~(.s64)1U"),
    ("f64", "1.0 / 3.0"), ("f32", "1.0 / 3.0"), ("f64", "-1.0 / 0.5"), ("f64", "1.0 / 0.0"), ("f64", "1.0 / 0"), ("f64", "1 / 2.0"),
    ("u32", "1.0 == 1.0"), ("u32", "1.0 < 2.0"), ("f32", "1.0 < 2.0"), ("s16", "1.0 >= 2.0"), ("u32", "1.5 < 1"), ("u32", "2.0 != (0f3f800000)"),
    ("u32", "1.0 && 1.0"), ("u32", "1.0 % 2.0"), ("u32", "1 << 2.0"), ("f32", "1.0 | 2"), ("f32", "1 + 2.0"), ("f32", "1.0 + 2"),
    ("f64", "0f3fc00000"), ("f64", "(0f3fc00000)"), ("f32", "-(0f3fc00000)"), ("b64", "-(0f3fc00000)"), ("b32", "-(-(0f3fc00000))"),
    ("f64", "(0f3fc00000) + 1.0"), ("b32", "(0f3fc00000) + 0.0"), ("b32", "0f3fc00000"), ("f32", "+(0f3fc00000)"),
    ("u64", "(.s64)1.0"), ("u64", "(.f64)1"), ("f64", "(.f64)1.0"), ("u64", "(.b32)(2.5) ? 1 : 2.0"),
    ("b16", "!(0 ? 2.0 : 2)"), ("s16", "1.0 ? 2.0 : 3"), ("u64", "1 ? 0f3f800000 : 3"), ("u64", "1 ? 3 : 0f3f800000"), ("f32", "1 ? 2.0 : 3"),
    ("f32", "~3 < 1.0 ? 0.0 : 1"), ("s16", "1.5 < 0x7fffffffffffffff + 2.0 ? 2.0 : -3"), ("u32", "!1.0"), ("f64", "~1.0"),
)  # fmt: skip


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("type_", "text"), EXPRESSIONS)
def test_values_and_messages_are_those_of_ptxas(type_: str, text: str, tmp_path: Path) -> None:
    module = f"{_HEAD}.visible .global .{type_} x = {text};{_KERNEL}"
    (tmp_path / "k.ptx").write_text(module)
    command = [tool("ptxas"), "-arch", "sm_80", "k.ptx", "-o", "theirs"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=False).stderr
    theirs = [m[1].strip() for m in map(_MESSAGE.fullmatch, said.splitlines()) if m and "aborted" not in m[1]]
    try:
        (tmp_path / "ours").write_bytes(orias.compile(module, arch="sm_80").data)
        ours = []
    except orias.CompileError as e:
        ours = [d.message.strip() for d in e.diagnostics]
    assert ours == theirs
    if not ours:
        assert _bytes(tmp_path / "ours") == _bytes(tmp_path / "theirs")


def _bytes(cubin: Path) -> bytes:
    """The initial values of a file; nothing if all are zero."""
    section = ElfFile(cubin.read_bytes()).section(".nv.global.init")
    return section.data if section else b""
