"""Objects (-c): the symbols, in the order of ptxas's."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import tool
from tests.rotation import rotating

HEAD = ".version 8.8\n.target {}\n.address_size 64\n"
LEVELS = {"-O3": {}, "-O1": {"opt_level": 1}, "-O0": {"opt_level": 0}, "-g": {"debug": True}}
PROGRAMS = {
    "calls in another order": (".func f1()", ".func f2() f1", ".func f3()", ".visible .entry k() f3 f1 f2 s"),
    "one calls the next": (".func f1()", ".func f2() f1", ".visible .func f3() f2", ".visible .entry k() s f3 f1"),
    "a function that nothing calls": (".func f1()", ".func f2()", ".visible .entry k() f2"),
    "two kernels": (".func f1()", ".func f2()", ".visible .entry k() s f2", ".visible .entry k2() f1 s t"),
    "a local kernel": (".func f1()", ".entry k() f1 s", ".visible .entry k2() s f1"),
    "variables of one name": (".func f1()", ".visible .entry k() s t", ".visible .entry k2() s f1"),
}
"""Functions with what they use: functions that they call, shared variables of their own."""


def text_of(functions: tuple[str, ...], arch: str) -> str:
    out = HEAD.format(arch)
    for line in functions:
        head, _, uses = line.partition("()")
        body = [f".shared .b32 {v};" for v in uses.split() if v[0] != "f"]
        body += [f"call {u};" if u[0] == "f" else f"st.shared.u32 [{u}], 1;" for u in uses.split()]
        out += f"{head}() {{ {' '.join(body)} ret; }}\n"
    return out


def symbols(cubin: bytes) -> list[str]:
    """The names of all symbols; those of debug sections, whose text is the command line's too, are left out."""
    return [y.name for y in ElfFile(cubin).symbols if not y.name.startswith((".nv_debug", ".debug"))]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("arch", rotating(("sm_75", "sm_80", "sm_90", "sm_100a", "sm_120"), 2, "symbol order"))
@pytest.mark.parametrize("name", PROGRAMS)
def test_symbols_of_objects(name: str, arch: str, level: str, tmp_path: Path) -> None:
    text = text_of(PROGRAMS[name], arch)
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-c", level, f"-arch={arch}", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    ours = orias.compile(text, arch=arch, compile_only=True, capsules="none", **LEVELS[level])
    theirs = symbols((tmp_path / "k.cubin").read_bytes())
    assert symbols(ours.data) == [n for n in theirs if not n.startswith(".nv.merc")]
