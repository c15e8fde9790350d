"""Dynamic shared memory (``.extern .shared``) of executables: its section, size and alignment are those of ptxas's file."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim as sim
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
USES = "mov.u32 %r1, {0}; st.shared.u32 [%r1], %r1;"


def kernel(name: str, *used: str) -> str:
    body = " ".join(USES.format(v) for v in used)
    return f".visible .entry {name}() {{ .reg .b32 %r<2>; {body} ret; }}\n"


def dynamic(align: int, name: str = "dyn") -> str:
    return f".extern .shared .align {align} .b8 {name}[];\n"


STATIC = ".shared .align 4 .b8 stat[4];\n"
MODULES = {
    "declared alignment of 4": STATIC + dynamic(4) + kernel("a", "stat", "dyn"),
    "declared alignment of 64": STATIC + dynamic(64) + kernel("a", "stat", "dyn"),
    "used by one kernel": STATIC + dynamic(4) + kernel("a", "dyn") + kernel("b", "stat") + kernel("c"),
    "used by none": STATIC + dynamic(8) + kernel("a", "stat") + kernel("b"),
    "two, the aligned one not used": STATIC + dynamic(4) + dynamic(32, "other") + kernel("a", "stat", "dyn"),
    "none": STATIC + kernel("a", "stat") + kernel("b"),
}


def sections(cubin: bytes) -> dict[str, tuple[int, int]]:
    elf = ElfFile(cubin)
    names = [s for s in elf.sections if s.name.startswith((".nv.shared.", ".rel.text.", ".rela.text."))]
    return {s.name: (s.size, s.align) for s in names}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("option", ["", "-g"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", MODULES)
def test_sections_of_dynamic_shared_memory(name: str, arch: str, option: str, tmp_path: Path) -> None:
    if option and name == "declared alignment of 64":
        pytest.skip("with -g ptxas keeps no alignment above 16")
    source, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(HEAD + MODULES[name])
    command = [tool("ptxas"), f"-arch={arch}", str(source), "-o", str(out), *([option] if option else [])]
    subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True)
    mine = orias.compile(source.read_text(), arch=arch, debug=bool(option)).data
    assert sections(mine) == sections(out.read_bytes())


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a"])
@pytest.mark.parametrize("used", ["", "stat", "dyn", "own"])
def test_relocation_sections_of_functions_with_shared_variables(used: str, arch: str, tmp_path: Path) -> None:
    """With -g, from sm_90 on, such a function has an empty section of relocations."""
    source, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    code = USES.format(used) if used else ""
    source.write_text(
        HEAD
        + STATIC
        + dynamic(4)
        + f".func f() {{ .reg .b32 %r<2>; .shared .b32 own; {code} ret; }}\n"
        + ".visible .entry k() { call f, (); ret; }\n"
    )
    command = [tool("ptxas"), "-g", f"-arch={arch}", str(source), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True)
    mine = orias.compile(source.read_text(), arch=arch, debug=True).data
    names = [{n for n in sections(d) if "rel" in n} for d in (mine, out.read_bytes())]
    assert names[0] == names[1]


def test_dynamic_memory_begins_at_a_vector() -> None:
    """A four-word access to an array of floats after a static word: ptxas's programs rely on it."""
    text = (
        HEAD
        + STATIC
        + dynamic(4)
        + ".visible .entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; mov.u32 %r1, stat;"
        " mov.u32 %r2, dyn; and.b32 %r2, %r2, 15; st.global.u32 [%rd1], %r2; st.shared.u32 [%r1], %r1; ret; }"
    )
    a = np.full(1, 0xFFFFFFFF, dtype=np.uint32)
    sim.load(orias.compile(text, arch="sm_80").data).launch("k", 1, 1, [a])
    assert a[0] == 0
