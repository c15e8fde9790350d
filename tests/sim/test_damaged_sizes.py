"""Sizes that a damaged cubin asks for are refused before memory is asked for."""

import struct

import pytest

import orias
from orias import sim
from orias.cubin.elf import SHDR_SIZE, ElfFile

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
    .shared .align 4 .b8 s[64];
    .reg .b32 %r;
    mov.u32 %r, s;
    st.shared.u32 [s], %r;
    ret;
}
"""


@pytest.mark.parametrize("size", [(1 << 24) + 1, 1 << 53])
def test_shared_memory(size: int) -> None:
    """A mutant had eight pebibytes."""
    data = bytearray(orias.compile(TEXT, arch="sm_80").data)
    sections = ElfFile(bytes(data)).sections
    index = next(s.index for s in sections if s.name == ".nv.shared.k")
    (headers,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<Q", data, headers + SHDR_SIZE * index + 32, size)
    with pytest.raises(sim.SimError, match=f"{size} bytes of shared memory, at most 16777216"):
        sim.load(bytes(data)).launch("k", 1, 32)
