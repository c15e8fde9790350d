"""Elements of variables named by a register, ``name[%r+c]``: ours, ptxas's and the interpreter's results are the host's."""

from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage
from tests.oracle import compile_or_none

THREADS = 32
OF_FUNCTION = (
    "and.b32 %r2, %r1, 3; { .param .b32 n; .param .align 4 .b32 g[4]; .param .b32 z; st.param.b32 [n], %r2;"
    " st.param.b32 [g], 5; st.param.b32 [g+4], 6; st.param.b32 [g+8], %r1; st.param.b32 [g+12], 8; call (z), pick, (n, g);"
    " ld.param.b32 %r3, [z]; } cvt.u64.u32 %d3, %r3;"
)
"""What ptxas does wrong (tests/oracle_faults/element_parameter.ptx)."""
TEXT = """.version 9.0
.target {arch}
.address_size 64
.global .align 8 .u64 wide[40] = {{{wide}}};
.global .align 2 .u16 narrow[40] = {{{narrow}}};
.global .align 16 .v4 .b32 vectors[10] = {{{vectors}}};
.const .align 4 .b32 fixed[40] = {{{fixed}}};
.global .align 4 .u32 cells[40];
.func (.param .b32 result) pick(.param .b32 number, .param .align 4 .b32 given[4]) {{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [number];
  ld.param.b32 %r2, given[%r1];
  st.param.b32 [result], %r2;
  ret;
}}
.visible .entry k(.param .u64 out, .param .align 4 .b32 row[4]) {{
  .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .b16 %h<3>; .reg .b8 %b;
  .shared .align 8 .b32 tile[40];
  .local .align 8 .b32 own[8];
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 8;
  add.u64 %d1, %d1, %d2;
  st.shared.b32 tile[%r1], %r1;
  st.global.u32 cells[%r1+2], %r1;
  bar.sync 0;
{body}
  ret;
}}
"""
WIDE = [i * 0x123456789 & (1 << 64) - 1 for i in range(40)]
NARROW = [i * 0x1234 & 0xFFFF for i in range(40)]
FIXED = [i * 0x01020304 & 0xFFFFFFFF for i in range(40)]
ROW = [7, 11, 13, 17]
CASES = {
    "ld.global.u64 %d3, wide[%r1];": lambda t: WIDE[t],
    "ld.u64 %d3, wide[%r1+3];": lambda t: WIDE[t + 3],
    "add.u32 %r2, %r1, 8; ld.global.u64 %d3, wide[%r2+-8];": lambda t: WIDE[t],
    "ld.global.u64 %d3, wide[%laneid];": lambda t: WIDE[t],
    "cvt.u64.u32 %d4, %r1; or.b64 %d4, %d4, 0x700000000; ld.global.u64 %d3, wide[%d4];": lambda t: WIDE[t],
    "or.b32 %r2, %r1, 0x20000000; ld.global.u64 %d3, wide[%r2];": lambda t: WIDE[t],
    "cvt.u16.u32 %h1, %r1; ld.global.u64 %d3, wide[%h1+1];": lambda t: WIDE[t + 1],
    "cvt.u8.u32 %b, %r1; ld.global.u64 %d3, wide[%b];": lambda t: WIDE[t],
    "ld.global.u16 %h2, narrow[%r1]; cvt.u64.u16 %d3, %h2;": lambda t: NARROW[t],
    "ld.global.u32 %r3, vectors[%r1]; cvt.u64.u32 %d3, %r3;": lambda t: FIXED[t],
    "ld.global.v4.u32 {%r3,%r4,%r5,%r6}, vectors[4]; cvt.u64.u32 %d3, %r4;": lambda t: FIXED[5],
    "ld.const.u32 %r3, fixed[%r1]; cvt.u64.u32 %d3, %r3;": lambda t: FIXED[t],
    "ld.const.u32 %r3, fixed[%r1+7]; cvt.u64.u32 %d3, %r3;": lambda t: FIXED[t + 7],
    "ld.shared.u32 %r3, tile[%r1]; cvt.u64.u32 %d3, %r3;": lambda t: t,
    "xor.b32 %r2, %r1, 31; ld.shared::cta.u32 %r3, tile[%r2]; cvt.u64.u32 %d3, %r3;": lambda t: 31 - t,
    "ld.global.u32 %r3, cells[%r1+2]; cvt.u64.u32 %d3, %r3;": lambda t: t,
    "and.b32 %r2, %r1, 3; ld.param.b32 %r3, row[%r2]; cvt.u64.u32 %d3, %r3;": lambda t: ROW[t % 4],
    "and.b32 %r2, %r1, 3; st.local.b32 own[%r2+1], %r1; xor.b32 %r3, %r2, 0; ld.local.b32 %r4, own[%r3+1];"
    " cvt.u64.u32 %d3, %r4;": lambda t: t,
    "mov.u64 %d4, wide[%r1]; ld.global.u64 %d3, [%d4];": lambda t: WIDE[t],
    "mov.u32 %r4, tile[%r1]; ld.shared.u32 %r5, [%r4]; cvt.u64.u32 %d3, %r5;": lambda t: t,
    "cvta.shared.u64 %d4, tile[%r1]; ld.u32 %r5, [%d4]; cvt.u64.u32 %d3, %r5;": lambda t: t,
    OF_FUNCTION: lambda t: [5, 6, t, 8][t % 4],
}


def text_of(arch: str) -> str:
    lines = []
    for k, case in enumerate(CASES):
        lines += ["  " + case.replace("; ", ";\n  "), f"  st.global.u64 [%d1+{8 * THREADS * k}], %d3;"]
    listed = {"wide": WIDE, "narrow": NARROW, "fixed": FIXED}
    values = {name: ", ".join(map(str, v)) for name, v in listed.items()}
    vectors = ", ".join("{" + ", ".join(map(str, FIXED[i : i + 4])) + "}" for i in range(0, 40, 4))
    return TEXT.format(arch=arch, body="\n".join(lines), vectors=vectors, **values)


def results(image: orias.sim.Image) -> np.ndarray:
    out = np.zeros((len(CASES), THREADS), np.uint64)
    image.launch("k", 1, THREADS, [out, np.array(ROW, np.uint32).tobytes()])
    return out


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_elements_by_register(arch: str, tmp_path: Path) -> None:
    text = text_of(arch)
    path = tmp_path / "k.ptx"
    path.write_text(text)
    images = {f"-O{level}": orias.sim.load(orias.compile(text, arch=arch, opt_level=level).data) for level in (0, 1, 3)}
    images["interpreter"] = PtxImage(parse(text, "k.ptx"), arch)
    other = compile_or_none(path, arch, [], tmp_path)
    if other is not None:
        images["ptxas"] = orias.sim.load(other)
    for who, image in images.items():
        got = results(image)
        for row, (case, host) in zip(got, CASES.items(), strict=True):
            if case == OF_FUNCTION and who == "ptxas":
                continue
            assert row.tolist() == [host(t) for t in range(THREADS)], (who, case)
