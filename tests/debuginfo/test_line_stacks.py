"""Stacks of lines: what ptxas's tables lose of them, which Orias's have, and the text that the disassembler makes of them."""

import subprocess
import sys
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool
from tools.debug_info.compare_lines_of_code import Stack, stacks, without_repeated_calls

EQUAL_LINES = [
    (".loc 1 10 0", True),
    (".loc 2 20 3, function_name $f, inlined_at 1 10 0", True),
    (".loc 3 20 3, function_name $g, inlined_at 2 20 3", True),
    (".loc 3 21 3, function_name $g, inlined_at 2 20 3", True),
]
"""Code at line 20 of a file inlined at line 20 of another."""
REPEATED_CALLS = [
    (".loc 1 10 0", False),
    (".loc 2 20 3, function_name $f, inlined_at 1 10 0", False),
    (".loc 3 30 3, function_name $g, inlined_at 2 20 3", False),
    (".loc 2 20 3, function_name $f, inlined_at 3 30 3", False),
    (".loc 3 30 3, function_name $g, inlined_at 2 20 3", True),
]
"""Two functions that inline each other, twice."""
PLAIN = [
    (".loc 1 10 0", True),
    (".loc 2 20 3, function_name $f, inlined_at 1 10 0", True),
    (".loc 1 11 0", True),
    (".loc 2 20 3, function_name $f, inlined_at 1 11 0", True),
    (".loc 2 20 3, function_name $f, inlined_at 1 10 0", True),
]
"""One line inlined at two places, one after the other."""


def text(lines: list[tuple[str, bool]], arch: str) -> str:
    """A kernel with the directives; after those that are True comes a store that stays where it is."""
    out = [".version 8.8", f".target {arch}", ".address_size 64", ".visible .entry k(.param .u64 p) {", ".reg .b64 %d;"]
    out += [".loc 1 1 0", "ld.param.u64 %d, [p];"]
    for k, (directive, code) in enumerate(lines):
        out.append(directive)
        if code:
            out.append(f"st.volatile.global.u32 [%d+{4 * k}], {k};")
    out += [".loc 1 2 0", "ret;", "}", '.file 1 "/a/a.cu"', '.file 2 "/a/b.cu"', '.file 3 "/a/c.cu"']
    out += [".section .debug_str {", "$f:", ".b8 102,0", "$g:", ".b8 103,0", "}", ""]
    return "\n".join(out)


def cubins(lines: list[tuple[str, bool]], folder: Path, arch: str = "sm_80") -> tuple[Path, Path]:
    """The files of Orias and of ptxas."""
    source, ours, theirs = folder / "k.ptx", folder / "ours.cubin", folder / "theirs.cubin"
    source.write_text(text(lines, arch))
    ours.write_bytes(orias.compile(source.read_text(), arch=arch, lineinfo=True).data)
    command = [tool("ptxas"), f"-arch={arch}", "-lineinfo", str(source), "-o", str(theirs)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    return ours, theirs


def places(stack: Stack) -> str:
    return " ".join(f"{Path(f).stem}{line}" for f, line in stack)


@pytest.mark.in_turn(2)
def test_rows_of_equal_lines(tmp_path: Path) -> None:
    ours, theirs = cubins(EQUAL_LINES, tmp_path)
    assert {"b20 a10", "c20 b20 a10", "c21 b20 a10"} <= {places(s) for s in stacks(ours)}
    there = {places(s) for s in stacks(theirs)}
    assert "c20 b20 a10" not in there and {"b20 a10", "c21 b20 a10"} <= there
    assert set(stacks(ours, dropped=True)) == set(stacks(theirs))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_repeated_calls(arch: str, tmp_path: Path) -> None:
    """ptxas loses the inner ones from sm_90 on."""
    ours, theirs = cubins(REPEATED_CALLS, tmp_path, arch)
    assert "c30 b20 c30 b20 a10" in {places(s) for s in stacks(ours)}
    kept = "c30 b20 c30 b20 a10" in {places(s) for s in stacks(theirs)}
    assert kept == (arch == "sm_80")
    lossy = [{without_repeated_calls(s) for s in stacks(f, dropped=True)} for f in (ours, theirs)]
    assert lossy[0] == lossy[1]


@pytest.mark.parametrize("inlined", [True, False])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a"])
def test_place_of_the_names(arch: str, inlined: bool, tmp_path: Path) -> None:
    """`.debug_str` is after the table of lines if some code is inlined, else the last of these sections."""
    lines = [
        (".loc 1 10 0", True),
        (".loc 2 20 3, function_name $f, inlined_at 1 10 0", inlined),
        (".loc 1 11 0", True),
    ]
    names = [[s.name for s in ElfFile(f.read_bytes()).sections] for f in cubins(lines, tmp_path, arch)]
    assert names[0] == names[1]
    last = names[0].index(".nv_debug_ptx_txt")
    assert (names[0].index(".debug_str") < last) == inlined


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("lines", [EQUAL_LINES, REPEATED_CALLS, PLAIN])
def test_comments_are_those_of_nvdisasm(lines: list[tuple[str, bool]], tmp_path: Path) -> None:
    """`nvdisasm` prints no comment where the call site alone is another."""

    def comments(command: list[str]) -> list[str]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        lines = (line.strip().split(";")[0].rstrip() for line in done.stdout.splitlines())
        return [line for line in lines if line.startswith(("//##", "/*0"))]

    for file in cubins(lines, tmp_path):
        ours = comments([sys.executable, "-m", "orias", "dis", "-gi", str(file)])
        assert ours == comments([tool("nvdisasm"), "-c", "-gi", str(file)])
        assert len(ours) > 20
