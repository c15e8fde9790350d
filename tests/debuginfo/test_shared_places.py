"""-g: where shared variables lie, in which section and how long it is, beside ptxas's; the kernels find their own bytes there."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim as sim
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool
from tests.rotation import rotating

HEAD = ".version 8.8\n.target {}\n.address_size 64\n"
PROTOTYPE = "P: .callprototype _ (.param .b64 q);"


def modules() -> dict[str, list[str]]:
    text = (Path(__file__).parent / "shared_modules.txt").read_text()
    parts = re.split(r"^== (.*)\n", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)[1:]
    return {name: body.splitlines() for name, body in zip(parts[::2], parts[1::2], strict=True)}


MODULES = modules()


def function(line: str, functions: set[str]) -> str:
    """The text of a function: it writes the places of what it uses to the output, functions that it calls 16 words on."""
    head, uses = line.split("|")
    name, variables = head.split(":")
    body = [f".shared .align 4 .b8 {v}[64];" for v in variables.split()]
    body.append("ld.param.u64 %rd1, [p];")
    for k, use in enumerate(uses.split()):
        called = use.lstrip("*")
        if called in functions:
            pointer = f"mov.u64 %rd2, {called}; {PROTOTYPE}" if use != called else ""
            call = "call %rd2, (q), P;" if pointer else f"call {called}, (q);"
            body.append(f"{{ .param .b64 q; add.u64 %rd3, %rd1, 64; {pointer} st.param.b64 [q], %rd3; {call} }}")
        else:
            body.append(f"mov.u32 %r{k % 9}, {use}; st.global.u32 [%rd1+{4 * k}], %r{k % 9};")
    kind = f".entry {name[:-1]}" if name.endswith("!") else f".func {name}"
    return f".visible {kind}(.param .u64 p) {{ .reg .b32 %r<10>; .reg .b64 %rd<4>;\n" + "\n".join(body) + "\nret; }\n"


def text_of(lines: list[str], arch: str) -> str:
    functions = {line.split(":")[0] for line in lines if "|" in line}
    out = HEAD.format(arch)
    for line in lines:
        if "|" in line:
            out += function(line, functions)
        else:
            name, size, align = line.split()
            out += f".shared .align {align} .b8 {name}[{size}];\n"
    return out


def places(cubin: bytes) -> dict[str, object]:
    """The section, place and size of each shared variable, and the bytes of each section."""
    elf = ElfFile(cubin)
    found: dict[str, object] = {
        s.name: s.size for s in elf.sections if s.name.startswith(".nv.shared.") and "reserved" not in s.name
    }
    for y in elf.symbols:
        if y.type == 1 and y.section < len(elf.sections) and "shared" in elf.sections[y.section].name:
            found[y.name] = (elf.sections[y.section].name, y.value, y.size)
    return found


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", rotating(("sm_75", "sm_80", "sm_90", "sm_100a", "sm_120"), 2, "shared places"))
@pytest.mark.parametrize("name", MODULES)
def test_places_are_those_of_ptxas(name: str, arch: str, tmp_path: Path) -> None:
    text = text_of(MODULES[name], arch)
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), f"-arch={arch}", "-g", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    ours = orias.compile(text, arch=arch, debug=True).data
    theirs = (tmp_path / "k.cubin").read_bytes()
    assert places(ours) == places(theirs)
    for kernel in (line.split("!")[0] for line in MODULES[name] if "!" in line):
        rows = []
        for cubin in (ours, theirs):
            out = np.zeros(64, np.uint32)
            sim.load(cubin).launch(kernel, 1, 1, [out])
            rows.append(out.tolist())
        assert rows[0] == rows[1]
