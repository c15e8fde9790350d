"""Addresses of kernels, by which device code launches them: relocations of descriptors, as in ptxas's cubins."""

import subprocess

import pytest

import orias
from orias.cubin.elf import ElfFile
from tests.nvtools import LIMIT_S, tool

PROGRAM = """.version 9.0
.target {arch}
.address_size 64
.visible .entry child(.param .u64 p) {{ ret; }}
.global .u64 table[2] = {{child, child}};
.global .u8 bytes[8] = {{0xff(child), 0xff00(child), 0xff0000(child), 0xff000000(child), 0xff00000000(child),
    0xff0000000000(child), 0xff000000000000(child), 0xff00000000000000(child)}};
.const .u64 constant = child;
.visible .entry parent(.param .u64 out)
{{
    .reg .b64 %a, %v;
    .reg .b32 %r;
    ld.param.u64 %a, [out];
    mov.u64 %v, child;
    st.global.u64 [%a], %v;
    ld.global.u64 %v, [table];
    st.global.u64 [%a+8], %v;
    ld.const.u64 %v, [constant];
    st.global.u64 [%a+16], %v;
    ld.global.u8 %r, [bytes];
    st.global.u8 [%a+24], %r;
    ret;
}}
"""
MODES = {"executable": {}, "object": {"compile_only": True}, "extensible": {"extensible": True}}
OPTIONS = {"executable": [], "object": ["-c"], "extensible": ["-ewp"]}


def descriptors(data: bytes) -> list[tuple[str, int]]:
    """Section and type of each relocation against `child`."""
    file = ElfFile(data)
    return sorted(
        (s.name, r.type)
        for s in file.sections
        if s.name.startswith((".text", ".nv.global", ".nv.constant"))
        for r in file.relocations(s)
        if file.symbol_name(r.symbol, s.name) == "child"
    )


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120"])
def test_descriptors(arch, mode, tmp_path):
    source, out = tmp_path / "a.ptx", tmp_path / "a.cubin"
    source.write_text(PROGRAM.format(arch=arch))
    command = [tool("ptxas"), "-arch", arch, *OPTIONS[mode], str(source), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    ours = descriptors(orias.compile(source.read_text(), arch=arch, **MODES[mode]).data)
    assert ours == descriptors(out.read_bytes())
    in_code = [] if mode == "executable" else [(".text.parent", 62), (".text.parent", 63)]
    slots = [(".nv.constant4", 35)] if mode == "executable" else []
    data = [(".nv.global.init", n) for n in (35, 35, *range(92, 100))]
    assert ours == [(".nv.constant3", 35), *slots, *data, *in_code]
