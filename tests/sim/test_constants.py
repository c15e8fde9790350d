"""Constants by generic addresses: a read by aligned words goes past the end of the last one."""

import numpy as np
import pytest

import orias
from orias import sim
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage

TEXT = """
.version 7.8
.target sm_75
.address_size 64
.const .align 8 .b8 text[3] = {65, 66, 67};
.visible .entry k(.param .u64 out, .param .u64 at)
{
    .reg .u64 %rd<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [at];
    mov.u64 %rd3, text;
    cvta.const.u64 %rd3, %rd3;
    add.u64 %rd3, %rd3, %rd2;
    ld.u64 %rd4, [%rd3];
    st.global.u64 [%rd1], %rd4;
    ret;
}
"""


def images(arch: str) -> list[sim.Image | PtxImage]:
    """Our code at two levels, and the text interpreted."""
    return [
        *(sim.load(orias.compile(TEXT, arch=arch, opt_level=level).data) for level in (0, 3)),
        PtxImage(parse(TEXT, "constants.ptx"), arch),
    ]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90a", "sm_120a"])
def test_a_word_over_the_end_of_the_constants(arch: str) -> None:
    """It has zeros there, as the bank has; the next 16 bytes are in no allocation."""
    for image in images(arch):
        out = np.ones(1, np.uint64)
        image.launch("k", 1, 1, [out, np.uint64(0)])
        assert out.tolist() == [0x434241]
        with pytest.raises(sim.OutOfBounds):
            image.launch("k", 1, 1, [out, np.uint64(16)])
