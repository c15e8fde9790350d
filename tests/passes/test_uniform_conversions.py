"""Conversions of what is the same in all threads run on the uniform datapath where their users take them from there, and give the same values."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.cubin.elf import ElfFile
from orias.isa.isa_table import load as load_table
from orias.target.decoder_class import table_of_sm
from tests.device import load
from tests.nvtools import LIMIT_S, tool

_TEXT = """.version 8.8
.target {arch}
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 i, .param .u32 u, .param .f32 f)
{{
  .reg .b64 %d<3>; .reg .b32 %r<7>; .reg .f32 %f<4>; .reg .b16 %h;
  ld.param.u64 %d0, [o];
  ld.param.u64 %d1, [i];
  ld.param.u32 %r1, [u];
  ld.param.f32 %f1, [f];
  ld.global.u32 %r0, [%d1];
  ld.global.f32 %f0, [%d1];
  {body}
  st.global.u32 [%d0], %r2;
  ret;
}}
"""
_TO_INTEGER = "cvt.{0}.f32 %r2, %f1; add.u32 %r2, %r2, %r0;"
_TO_FLOAT = "cvt.{0} %f2, %r1; add.f32 %f2, %f2, %f0; mov.b32 %r2, %f2;"
BODIES = {
    _TO_INTEGER.format("rzi.s32"): "UF2I",
    _TO_INTEGER.format("rni.u32"): "UF2I",
    _TO_INTEGER.format("rmi.ftz.s32"): "UF2I",
    _TO_INTEGER.format("rpi.u32"): "UF2I",
    "cvt.rni.f32.f32 %f2, %f1; add.f32 %f2, %f2, %f0; mov.b32 %r2, %f2;": "UFRND",
    "cvt.rmi.ftz.f32.f32 %f2, %f1; add.f32 %f2, %f2, %f0; mov.b32 %r2, %f2;": "UFRND",
    _TO_FLOAT.format("rp.f32.u32"): "UI2F",
    _TO_FLOAT.format("rm.f32.s32"): "UI2F",
    "popc.b32 %r2, %r1; add.u32 %r2, %r2, %r0;": "UPOPC",
    "bfind.s32 %r2, %r1; add.u32 %r2, %r2, %r0;": "UFLO",
    "brev.b32 %r2, %r1; add.u32 %r2, %r2, %r0;": "UBREV",
}
VALUES = [
    (0, 0.0), (1, 0.5), (0xFFFFFFFF, -1.5), (0x80000000, 2147483648.0), (16777217, 1e-40), (0x8001, -3e9),
    (0x00FF7F81, float("nan")), (12345679, float("inf")), (77, 65535.75), (40000, -32769.0),
]  # fmt: skip


def names(data: bytes, arch: str) -> list[str]:
    section = ElfFile(data).section(".text.k")
    assert section is not None
    table = load_table(table_of_sm(int(arch[3:6].rstrip("a"))))
    words = [section.data[k : k + 16] for k in range(0, len(section.data), 16)]
    return [table.decode(int.from_bytes(w, "little")).op.base for w in words]


def results(data: bytes) -> list[int]:
    """What the kernel stores for each pair of values."""
    out = []
    for u, f in VALUES:
        stored = np.zeros(4, np.uint32)
        load(data).launch("k", 1, 32, [stored, np.full(4, 5, np.uint32), u, np.float32(f)])
        out.append(int(stored[0]))
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("body", BODIES)
def test_values_are_those_of_ptxas(body: str, tmp_path: Path) -> None:
    arch = "sm_120a"
    text = _TEXT.format(arch=arch, body=body)
    ours = orias.compile(text, arch=arch).data
    assert BODIES[body] in names(ours, arch)
    command = [tool("ptxas"), "-arch", "sm_90", "-o", str(tmp_path / "k.cubin"), str(tmp_path / "k.ptx")]
    (tmp_path / "k.ptx").write_text(text.replace(arch, "sm_90"))
    subprocess.run(command, check=True, timeout=LIMIT_S)
    assert results(ours) == results((tmp_path / "k.cubin").read_bytes())


@pytest.mark.parametrize("body", [b for b, name in BODIES.items() if name in ("UF2I", "UFRND", "UI2F")])
def test_other_targets_have_no_uniform_form(body: str) -> None:
    arch = "sm_100a"
    found = names(orias.compile(_TEXT.format(arch=arch, body=body), arch=arch).data, arch)
    assert BODIES[body] not in found
    assert BODIES[body][1:] in found


def test_a_conversion_that_is_stored_stays() -> None:
    arch = "sm_120a"
    text = _TEXT.format(arch=arch, body="cvt.rzi.s32.f32 %r2, %f1;")
    assert "F2I" in names(orias.compile(text, arch=arch).data, arch)
