"""Relocatable modules (-c), linked by nvlink and run in the simulator next to ptxas's."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cubin.elf import ElfFile
from orias.cubin.relocs import R_BINDLESSOFF14_40, R_CONST_FIELD21_38
from orias.lower.frame.program import LowerOptions
from orias.lower.module import lower_module
from orias.ptx.parser import parse
from orias.target.profile import target
from tests.lower.test_run import results
from tests.nvtools import LIMIT_S, tool
from tests.rotation import with_later

CODE = """.version 8.0
.target sm_75
.address_size 64
.global .align 4 .b8 g[16];
.const .align 4 .b8 c1[16] = {1,2,3,4};
.shared .align 4 .b8 sm1[256];
.visible .func (.param .b32 r) loc (.param .b32 a) {
.reg .b32 %r<9>;
ld.param.u32 %r1, [a]; mul.lo.u32 %r2, %r1, %r1; ld.const.u8 %r3, [c1+1]; add.u32 %r2, %r2, %r3;
mov.u32 %r4, %tid.x; mov.u32 %r5, sm1; mad.lo.u32 %r5, %r4, 4, %r5;
st.shared.u32 [%r5], %r2; ld.shared.u32 %r2, [%r5]; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) sq (.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }
.visible .func (.param .b32 r) tw (.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; add.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }
.visible .global .align 8 .u64 tab[2] = {sq, tw};
.visible .entry k(.param .u64 p, .param .u32 n) {
.reg .b32 %r<30>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 128, %rd1;
mov.u64 %rd2, g; st.global.u32 [%rd2+4], 5;
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), loc, (x); ld.param.b32 %r4, [y]; }
st.global.u32 [%rd1], %r4; ld.global.u32 %r5, [g+4]; st.global.u32 [%rd1+4], %r5;
and.b32 %r8, %r1, 1; mul.wide.u32 %rd7, %r8, 8; mov.u64 %rd8, tab; add.u64 %rd8, %rd8, %rd7; ld.global.u64 %rd4, [%rd8];
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; q: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (y), %rd4, (x), q; ld.param.b32 %r9, [y]; }
st.global.u32 [%rd1+8], %r9;
ts: .branchtargets L1, L2, L1; and.b32 %r10, %r1, 1; brx.idx %r10, ts;
L1: st.global.u32 [%rd1+12], 7; ret;
L2: div.u64 %rd9, %rd1, 77; rem.u64 %rd9, %rd9, 1; st.global.u64 [%rd1+16], %rd9; ret; }
"""


def linked(obj: bytes, arch: str, folder: Path) -> bytes:
    source, out = folder / "k.o", folder / "k.cubin"
    source.write_bytes(obj)
    done = subprocess.run(
        [tool("nvlink"), f"-arch={arch}", str(source), "-o", str(out)], capture_output=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "linked"))
def test_linked_code_runs_like_theirs(arch: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(CODE)
    command = [tool("ptxas"), "-c", "-arch", arch, str(tmp_path / "k.ptx"), "-o", str(tmp_path / "t.o")]
    subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True)
    want = results(linked((tmp_path / "t.o").read_bytes(), arch, tmp_path), 0)
    for level in (0, 3):
        obj = orias.compile(CODE, arch=arch, opt_level=level, compile_only=True).data
        assert results(linked(obj, arch, tmp_path), 0) == want, level


QUERIES = """.version 8.0
.target sm_75
.address_size 64
.global .texref tex0;
.global .surfref surf0;
.visible .func (.param .b32 r) named() { .reg .b32 %r<4>; txq.width.b32 %r1, [tex0]; suq.height.b32 %r2, [surf0]; add.u32 %r3, %r1, %r2;
st.param.b32 [r], %r3; ret; }
.visible .func (.param .b32 r) held() { .reg .b32 %r<2>; .reg .b64 %d; mov.u64 %d, tex0; txq.width.b32 %r1, [%d]; st.param.b32 [r], %r1; ret; }
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_texture_references(arch: str, tmp_path: Path) -> None:
    """References are named by relocations of the bank's kinds as often as in ptxas's object, in the same functions.

    No texture is simulated.  ptxas loads a handle held in a register (type 66) where we use the bank's word (65, sm_75 to 89).
    """
    source, out = tmp_path / "k.ptx", tmp_path / "k.o"
    source.write_text(QUERIES)
    command = [tool("ptxas"), "-c", "-arch", arch, str(source), "-o", str(out)]
    subprocess.run(command, check=True, timeout=LIMIT_S, capture_output=True)

    def references(data: bytes) -> list[tuple[str, str]]:
        elf = ElfFile(data)
        found = [
            (s.name.partition(".text.")[2], r) for s in elf.sections if ".text" in s.name for r in elf.relocations(s)
        ]
        assert {r.type for _, r in found} <= {R_BINDLESSOFF14_40, R_CONST_FIELD21_38}
        return sorted((name, elf.symbols[r.symbol].name) for name, r in found)

    want = references(out.read_bytes())
    names = [n for _, n in want]
    assert sorted(set(names)) == ["surf0", "tex0"] and len(names) == 3
    for level in (0, 3):
        assert references(orias.compile(QUERIES, arch=arch, opt_level=level, compile_only=True).data) == want


WINDOW = """.version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 sm1[256];
.visible .func shared() { st.shared.u32 [sm1], 1; ret; }
.visible .func plain(.param .b64 a) { .reg .b64 %d; ld.param.u64 %d, [a]; st.global.u32 [%d], 1; ret; }
"""


def test_only_functions_with_shared_variables_read_the_shared_window() -> None:
    program = lower_module(parse(WINDOW), target("sm_90"), LowerOptions(relocatable=True))
    reads = {k.entry.name: [i.op.name for b in k.entry.blocks for i in b.insts].count("S2R") for k in program.kernels}
    assert reads == {"shared": 1, "plain": 0}
