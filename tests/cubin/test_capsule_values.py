"""Capsules of modules whose initial values hold bytes of addresses, and of loads whose bytes are not all used."""

from pathlib import Path

import numpy as np
import pytest

from orias.cubin import nvinfo
from orias.cubin.elf import ElfFile
from tests.cubin.test_capsule_kinds import sections
from tests.cubin.test_capsule_writer import FAMILY, changes, compiled, finalised, relocation_types, with_head
from tests.cubin.test_roundtrip import compile_ptx
from tests.device import load as load_image

_BYTES = range(8)


def _bytes_of(what: str) -> str:
    """An initialiser: each byte of an address."""
    return ", ".join(f"{0xFF << 8 * k:#x}({what})" for k in _BYTES)


def _read(array: str, first: int) -> str:
    """Put eight bytes of an array together, in %rd3."""
    lines = [
        f"ld.global.u8 %rd4,[{array}+{first + k}]; shl.b64 %rd4,%rd4,{8 * k}; or.b64 %rd3,%rd3,%rd4;" for k in _BYTES
    ]
    return "mov.u64 %rd3,0;\n  " + "\n  ".join(lines)


FUNCTION_BYTES = f"""
.func (.reg .b32 r) f(.reg .b32 a) {{ add.s32 r,a,7; ret; }}
.global .u8 g[12] = {{9, 8, 0xff(f), {_bytes_of("f")}, 7}};
.visible .entry k(.param .u64 p0) {{
  .reg .b64 %rd<8>; .reg .b32 %r<8>; ld.param.u64 %rd1,[p0]; ld.global.u32 %r2,[%rd1]; {_read("g", 3)}
  prot: .callprototype (.reg .b32 r) _ (.reg .b32 a); call (%r3),%rd3,(%r2),prot; st.global.u32 [%rd1],%r3;
  ld.global.u8 %r4,[g+11]; st.global.u32 [%rd1+4],%r4; ret;
}}
"""
DATA_BYTES = f"""
.global .u32 v[2] = {{5, 6}};
.const .u32 c = 3;
.global .u8 g[16] = {{{_bytes_of("v")}, {_bytes_of("c")}}};
.global .u8 h[8] = {{{_bytes_of("generic(v)")}}};
.visible .entry k(.param .u64 p0) {{
  .reg .b64 %rd<8>; .reg .b32 %r<8>; ld.param.u64 %rd1,[p0]; {_read("g", 0)}
  ld.global.u32 %r3,[%rd3]; {_read("h", 0)}
  ld.u32 %r4,[%rd3+4]; {_read("g", 8)}
  ld.const.u32 %r5,[%rd3]; add.u32 %r4,%r4,%r5; st.global.u32 [%rd1],%r3; st.global.u32 [%rd1+4],%r4; ret;
}}
"""
MASK = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>; ld.param.u64 %rd1,[p0];
  .pragma "used_bytes_mask 0x0fff";
  ld.global.v4.u32 {%r1,%r2,%r3,%r4},[%rd1];
  add.u32 %r2,%r2,%r1; add.u32 %r2,%r2,%r3; st.global.u32 [%rd1+16],%r2; ret;
}
"""


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("text", [FUNCTION_BYTES, DATA_BYTES], ids=["functions", "data"])
def test_bytes_of_addresses(tmp_path: Path, text: str, objects: bool) -> None:
    """Each byte has the Mercury relocation that it has in ptxas's cubin, and the copies of initial values are the same."""
    ours = compiled(with_head(text, "sm_100"), "sm_100", "require", objects=objects).data
    theirs = compile_ptx(tmp_path, text, "sm_100", *(["-c"] if objects else []))
    values = ".nv.merc.rela.nv.global.init"
    assert relocation_types(ours)[values] == relocation_types(theirs)[values]
    assert sections(ours, ".nv.global.init") == sections(theirs, ".nv.global.init")


@pytest.mark.parametrize("arch", sorted(FAMILY))
@pytest.mark.parametrize(("text", "want"), [(FUNCTION_BYTES, [12, 7]), (DATA_BYTES, [5, 9])], ids=["functions", "data"])
def test_bytes_of_addresses_finalised(tmp_path: Path, arch: str, text: str, want: list[int]) -> None:
    """The sibling's code reads the bytes that the linker filled in."""
    ours = compiled(with_head(text, arch), arch, "require").data
    after = finalised(ours, arch, tmp_path)
    assert not changes(ours, after)
    data = np.array([5, 0], np.uint32)
    load_image(after).launch("k", 1, 1, [data])
    assert data.tolist() == want


@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_used_bytes(tmp_path: Path, arch: str) -> None:
    """The mask of a load is recorded at its Mercury offset: finalised, it is at the load again."""

    def loads(data: bytes) -> list[list[int]]:
        section = ElfFile(data).section(".nv.info.k")
        assert section is not None
        return [r.words() for r in nvinfo.decode(section.data) if r.code == nvinfo.UNUSED_LOAD_BYTE_OFFSET]

    ours = compiled(with_head(MASK, arch), arch, "require").data
    after = finalised(ours, arch, tmp_path)
    assert not changes(ours, after)
    assert loads(after) == loads(ours) != []
