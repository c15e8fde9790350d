"""VHMNMX, which ptxas makes of two minima or maxima of halves from sm_90 on: as the PTX interpreter has it."""

import numpy as np
import pytest

import orias
from orias.ptx.parser import parse
from orias.sim import load
from orias.sim.ptx import PtxImage
from tests.forms.run import ptxas_cubin

TEXT = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [in];
    ld.param.u64 %d2, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %d1, %r1, 16, %d1;
    mad.wide.u32 %d2, %r1, 4, %d2;
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];
    OP %r2, %r2, %r3;
    OP %r2, %r2, %r4;
    st.global.u32 [%d2], %r2;
    ret;
}
"""


@pytest.mark.parametrize("op", ["min.f16x2", "max.NaN.f16x2", "max.bf16x2", "min.NaN.bf16x2"])
def test_three_halves(op: str) -> None:
    text = TEXT.replace("OP", op)
    cubin = ptxas_cubin(text, "sm_90", 3)
    assert "VHMNMX" in orias.disassemble(cubin)
    words = np.random.default_rng(3).integers(0, 1 << 32, 1024, dtype=np.uint32)
    words[:200] &= 0x83FF83FF  # denormals
    words[200:400] |= 0x7C007C00  # infinities and NaNs
    results = []
    for image in (load(cubin), PtxImage(parse(text, "k.ptx"), "sm_90")):
        out = np.zeros(256, np.uint32)
        image.launch("k", 1, 256, [words, out])
        results.append(out.tolist())
    assert results[0] == results[1]
