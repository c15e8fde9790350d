"""Sizes and places that a damaged cubin asks for are refused before memory is asked for."""

import struct

import pytest

import orias
from orias import sim
from orias.cubin.elf import SHDR_SIZE, ElfFile
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage

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


def resized(data: bytearray, section: str, size: int) -> bytes:
    """A cubin whose header of a section says another size."""
    index = next(s.index for s in ElfFile(bytes(data)).sections if s.name == section)
    (headers,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<Q", data, headers + SHDR_SIZE * index + 32, size)
    return bytes(data)


@pytest.mark.parametrize("size", [(1 << 24) + 1, 1 << 53])
def test_shared_memory(size: int) -> None:
    """A mutant had eight pebibytes."""
    data = bytearray(orias.compile(TEXT, arch="sm_80").data)
    with pytest.raises(sim.SimError, match=f"{size} bytes of shared memory, at most 16777216"):
        sim.load(resized(data, ".nv.shared.k", size)).launch("k", 1, 32)


@pytest.mark.parametrize("size", [(1 << 31) + 1, 14293651161092])
def test_variables(size: int) -> None:
    data = bytearray(orias.compile(TEXT.replace(".visible", ".global .u32 g[4];\n.visible"), arch="sm_80").data)
    with pytest.raises(sim.SimError, match=f"{size} bytes of variables in .nv.global, at most 2147483648"):
        sim.load(resized(data, ".nv.global", size))


_BRA, _EXIT = 0x947, 0x94D
_TARGET, _TARGET_AT = (1 << 48) - 1, 34
"""The field of a branch's distance, in words of four bytes."""


@pytest.mark.parametrize("target", [-0x1000, -(1 << 36), 1 << 20, 1 << 36, (1 << 49) - 16])
def test_far_branch(target: int) -> None:
    """The target of a mutant's branch had more than 32 bits; others lie before the code."""
    data = bytearray(orias.compile(TEXT, arch="sm_80").data)
    code = next(s for s in ElfFile(bytes(data)).sections if s.name == ".text.k")
    words = [int.from_bytes(code.data[k : k + 16], "little") for k in range(0, code.size, 16)]
    branch = next(w for w in words if w & 0xFFF == _BRA) & ~(_TARGET << _TARGET_AT)
    place = code.offset + 16 * next(k for k, w in enumerate(words) if w & 0xFFF == _EXIT)
    data[place : place + 16] = (branch | (target >> 2 & _TARGET) << _TARGET_AT).to_bytes(16, "little")
    with pytest.raises(sim.SimError, match="execution left the code"):
        sim.load(bytes(data)).launch("k", 1, 32)


@pytest.mark.parametrize("grid", [(1, 1, 65536), (1, 65536), 1 << 31])
def test_grids_that_no_device_runs(grid: int | tuple[int, ...]) -> None:
    """The PTX of a case with 65,536 blocks in z ran to its end, the code was refused, and the PTX ran again, thread by thread."""
    images = sim.load(orias.compile(TEXT, arch="sm_80").data), PtxImage(parse(TEXT, "k.ptx"), "sm_80")
    for image in images:
        with pytest.raises(sim.SimError, match="at most 2147483647 x 65535 x 65535"):
            image.launch("k", grid, 32)
