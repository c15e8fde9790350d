"""Variables of equal names in different functions and blocks are different variables, in executables and after nvlink."""

from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from tests.cubin.linking import link
from tests.rotation import with_later

ENTRY = """
.visible .entry {name}(.param .u64 p) {{
  .global .align 4 .u32 g[{count}] = {{{values}}};
  .const .align 4 .u32 c = {constant};
  .shared .align 4 .b32 s[{count}];
  .shared .align 4 .b32 t[4];
  .reg .b64 %rd<4>;
  .reg .b32 %r<9>;
  .reg .pred %p;
  ld.param.u64 %rd1,[p];
  mov.u32 %r1,%tid.x;
  setp.ge.u32 %p,%r1,{count};
  @%p bra T;
  mul.wide.u32 %rd2,%r1,4;
  mov.u64 %rd3,g;
  add.u64 %rd3,%rd3,%rd2;
  ld.global.u32 %r2,[%rd3];
  ld.const.u32 %r3,[c];
  add.u32 %r2,%r2,%r3;
  cvt.u32.u64 %r4,%rd2;
  mov.u32 %r5,s;
  add.u32 %r5,%r5,%r4;
  st.shared.u32 [%r5],%r2;
T:
  st.shared.u32 [t],1000;
  bar.sync 0;
  @%p bra E;
  ld.shared.u32 %r2,[%r5];
  ld.shared.u32 %r3,[t];
  add.u32 %r2,%r2,%r3;
  add.u64 %rd1,%rd1,%rd2;
  st.global.u32 [%rd1],%r2;
E:
  ret;
}}
"""


def entry(name: str, values: list[int], constant: int) -> str:
    return ENTRY.format(name=name, count=len(values), values=",".join(str(v) for v in values), constant=constant)


@pytest.mark.parametrize("arch", with_later(["sm_80", "sm_90"], "local names"))
def test_equal_names(arch: str, tmp_path: Path) -> None:
    kernels = {"a": [3, 4, 5, 6, 7, 8, 9, 10], "b": [50], "c": [7, 6, 5]}
    text = f".version 9.0\n.target {arch}\n.address_size 64\n"
    text += "".join(entry(name, values, len(values)) for name, values in kernels.items())
    program = orias.compile(text, arch=arch).data
    (tmp_path / "k.o").write_bytes(orias.compile(text, arch=arch, compile_only=True).data)
    for data in (program, link([tmp_path / "k.o"], arch, tmp_path)):
        image = sim.load(data)
        for name, values in kernels.items():
            out = np.zeros(8, np.uint32)
            image.launch(name, 1, 32, [out])
            assert out[: len(values)].tolist() == [v + len(values) + 1000 for v in values], name


SUBROUTINE = """.version 8.0
.target sm_80
.address_size 64
.func (.reg .b64 d) div_rn_f64(.reg .b64 a, .reg .b64 b) { add.u64 d, a, b; ret; }
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<4>;
  .reg .f64 %f<4>;
  ld.param.u64 %rd1, [p];
  ld.global.f64 %f1, [%rd1];
  ld.global.f64 %f2, [%rd1+8];
  call (%rd3), div_rn_f64, (%rd1, %rd1);
  div.rn.f64 %f3, %f1, %f2;
  st.global.f64 [%rd1], %f3;
  sub.u64 %rd3, %rd3, %rd1;
  sub.u64 %rd3, %rd3, %rd1;
  st.global.u64 [%rd1+8], %rd3;
  ret;
}
"""


def test_a_function_with_the_name_of_our_subroutine() -> None:
    values = np.array([7.0, 1e-310])
    sim.Image(orias.compile(SUBROUTINE, arch="sm_80", self_check=True).data).launch("k", 1, 1, [values])
    assert values[0] == 7.0 / 1e-310
    assert values[1] == 0
