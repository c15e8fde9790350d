"""Doubles with a low word are read from constant bank 2 up to sm_89: places, sharing, tables in front, objects."""

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
import orias.sim as sim
from tests.nvtools import LIMIT_S, tool
from tests.rotation import with_later

A, B, C = 1.1, 2.3, 0.7  # none has an empty low word
HEX = {v: f"0d{struct.unpack('<Q', struct.pack('<d', v))[0]:016X}" for v in (A, B, C)}

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
FUNCTION = f"""
.func (.param .f64 r) NAME(.param .f64 x) {{
  .reg .f64 %d<3>;
  ld.param.f64 %d1, [x];
  fma.rn.f64 %d2, %d1, {HEX[A]}, {HEX[C]};
  st.param.f64 [r], %d2;
  ret;
}}
"""
KERNEL = f"""
.visible .entry NAME(.param .u64 out) {{
  .reg .f64 %d<8>; .reg .b64 %rd<8>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 8;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f64 %d1, [%rd3];
  mov.u64 %rd4, f;
  mov.u64 %rd5, g;
  and.b32 %r2, %r1, 1;
  setp.eq.s32 %p1, %r2, 0;
  selp.b64 %rd4, %rd4, %rd5, %p1;
  {{
    .param .f64 p; .param .f64 q;
    st.param.f64 [p], %d1;
    proto: .callprototype (.param .f64 _) _ (.param .f64 _);
    call (q), %rd4, (p), proto;
    ld.param.f64 %d2, [q];
  }}
  rem.u32 %r3, %r1, 3;
  table: .branchtargets one, two, three;
  brx.idx %r3, table;
one:
  fma.rn.f64 %d2, %d2, %d1, {HEX[B]};
  bra done;
two:
  mul.f64 %d2, %d2, {HEX[A]};
  bra done;
three:
  sub.f64 %d2, {HEX[C]}, %d2;
done:
  st.global.f64 [%rd3], %d2;
  ret;
}}
"""
MODULES = {
    "one": HEAD + "".join(FUNCTION.replace("NAME", n) for n in "fg") + KERNEL.replace("NAME", "k"),
    "two": HEAD + "".join(FUNCTION.replace("NAME", n) for n in "fg") + "".join(KERNEL.replace("NAME", n) for n in "kl"),
}


def wanted(x: np.ndarray) -> np.ndarray:
    """The kernel's results for 32 threads, within a few roundings."""
    y = x * A + C
    return np.choose(np.arange(32) % 3, [y * x + B, y * A, C - y])


def check(cubin: bytes, names: str) -> None:
    for name in names:
        out = np.linspace(-3.0, 4.0, 32)
        expected = wanted(out)
        sim.load(cubin).launch(name, 1, 32, [out])
        assert np.allclose(out, expected, rtol=1e-13)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", with_later(["sm_80", "sm_90"], "constant_pool"))
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("module", MODULES)
def test_results(module: str, opt: int, arch: str) -> None:
    cubin = orias.compile(MODULES[module], arch=arch, opt_level=opt, self_check=True)
    pooled = re.findall(r"D(?:FMA|ADD|MUL)[^;]*c\[0x2\]", cubin.disassemble())
    assert bool(pooled) == (arch == "sm_80")
    check(cubin.data, "k" if module == "one" else "kl")


def test_debug_functions_have_no_bank() -> None:
    cubin = orias.compile(MODULES["two"], arch="sm_80", debug=True)
    check(cubin.data, "kl")


def test_objects_link(tmp_path: Path) -> None:
    """The linker places the constants of each function after those of others; in a function they follow the table of its branch."""
    obj, out = tmp_path / "k.o", tmp_path / "k.cubin"
    obj.write_bytes(orias.compile(MODULES["two"], arch="sm_80", compile_only=True).data)
    assert "k.const_opt.16.24" in orias.disassemble(obj.read_bytes())
    subprocess.run([tool("nvlink"), "-arch=sm_80", str(obj), "-o", str(out)], check=True, timeout=LIMIT_S)
    check(out.read_bytes(), "kl")


LINES = {
    "addend": "fma.rn.f64 %d3, %d1, %d2, 0d3FF123456789ABCD;",
    "factor": "fma.rn.f64 %d3, 0d3FF123456789ABCD, %d1, %d2;",
    "both": "fma.rn.f64 %d3, %d1, 0d3FF123456789ABCD, 0d400921FB54442D18;",
    "factor and immediate": "fma.rn.f64 %d3, %d1, 0d3FF123456789ABCD, 0d4000000000000000;",
    "immediate and addend": "fma.rn.f64 %d3, %d1, 0d4000000000000000, 0d3FF123456789ABCD;",
    "sum": "add.f64 %d3, %d1, 0d3FF123456789ABCD;",
    "product": "mul.f64 %d3, %d1, 0d3FF123456789ABCD;",
    "difference": "sub.f64 %d3, 0d3FF123456789ABCD, %d1;",
    "comparison": "setp.lt.f64 %p1, %d1, 0d3FF123456789ABCD; selp.f64 %d3, %d1, %d2, %p1;",
    "low word only": "add.f64 %d3, %d1, 0d0000000000000001;",
    "high word only": "fma.rn.f64 %d3, %d1, %d2, 0d4010000000000000;",
    "shared": "add.f64 %d3, %d1, 0d3FF123456789ABCD; fma.rn.f64 %d3, %d3, %d2, 0d400921FB54442D18; add.f64 %d3, %d3, 0d3FF123456789ABCD;",
    "stored": "mov.f64 %d3, 0d3FF123456789ABCD; add.f64 %d4, %d1, %d3; st.global.f64 [%rd1+24], %d4;",
}


def doubles(data: bytes) -> tuple[list[str], bytes]:
    """Operations on doubles without their registers and comparisons, and bank 2."""
    from orias.cubin.reader import Reader

    text = orias.disassemble(data)
    found = re.findall(r"(D(?:FMA|ADD|MUL|SETP))[.A-Z]* ([^;]*);", text)
    return [f"{o} {re.sub(r'R[0-9]+', 'R', a)}" for o, a in found], Reader(data).kernels["k"].const2


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80"])
@pytest.mark.parametrize("line", LINES)
def test_same_operands_as_ptxas(line: str, arch: str, tmp_path: Path) -> None:
    ptx = f"""{HEAD}.visible .entry k(.param .u64 p) {{
      .reg .f64 %d<8>; .reg .b64 %rd<2>; .reg .pred %p<2>;
      ld.param.u64 %rd1, [p];
      ld.global.f64 %d1, [%rd1]; ld.global.f64 %d2, [%rd1+8];
      {LINES[line]}
      st.global.f64 [%rd1+16], %d3;
      ret; }}"""
    source, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(ptx)
    subprocess.run([tool("ptxas"), f"-arch={arch}", str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    assert doubles(orias.compile(ptx, arch=arch).data) == doubles(out.read_bytes())
