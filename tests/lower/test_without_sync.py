"""`shfl` and `vote` without `.sync`: refused by the module's own target, not by the one it is compiled for."""

import numpy as np
import pytest

import orias
from orias import sim

TEXT = """
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %laneid;
    shfl.down.b32 %r2|%p1, %r1, 3, 31;
    setp.gt.u32 %p2, %r1, 4;
    vote.ballot.b32 %r3, %p2;
    add.u32 %r2, %r2, %r3;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


@pytest.mark.parametrize("version", ["6.3", "6.4", "9.0"])
def test_older_targets(version: str) -> None:
    """ptxas 13.0.88 takes them for `.target sm_30` in every version, with warnings."""
    cubin = orias.compile(f".version {version}\n.target sm_30\n{TEXT}", arch="sm_75")
    out = np.zeros(32, np.uint32)
    sim.load(cubin.data).launch("k", 1, 32, [out])
    votes = 0xFFFFFFE0
    assert out.tolist() == [((lane + 3 if lane + 3 < 32 else lane) + votes) & 0xFFFFFFFF for lane in range(32)]


def test_newer_target() -> None:
    with pytest.raises(orias.CompileError, match=r"without '\.sync' is not supported on \.target sm_70 and higher"):
        orias.compile(f".version 6.4\n.target sm_70\n{TEXT}", arch="sm_75")
