"""Options that steer phases reach them."""

import orias

PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<6>;
    ld.param.u64 %rd1, [p];
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd1+4];
    ld.global.f32 %f3, [%rd1+8];
    mul.f32 %f4, %f1, %f2;
    add.f32 %f5, %f4, %f3;
    st.global.f32 [%rd1], %f5;
    ret;
}
"""


def test_fmad() -> None:
    """-fmad=false keeps a product and a sum apart, as ptxas does."""
    fused = orias.compile(PTX, arch="sm_80").disassemble()
    apart = orias.compile(PTX, arch="sm_80", fmad=False).disassemble()
    assert "FFMA" in fused and "FMUL" not in fused
    assert "FMUL" in apart and "FADD" in apart and "FFMA" not in apart


def test_serial() -> None:
    """The serial scheme at -O3: every instruction waits, so the code is not that of the scheduler."""
    scheduled, serial = (orias.compile(PTX, arch="sm_80", serial=s).data for s in (False, True))
    assert scheduled != serial
