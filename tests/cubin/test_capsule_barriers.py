"""Words that a capsule states together keep their registers where reads are spread over the banks."""

import pytest

import orias

BARRIERS = """.version 8.7
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b64 %p; .reg .b32 %r<6>;
ld.param.u64 %p, [p];
ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%p];
{barriers}
add.u32 %r5, %r1, %r3; add.u32 %r2, %r2, %r4;
st.global.v2.u32 [%p+16], {{%r2, %r5}};
ret; }}
"""


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
@pytest.mark.parametrize(
    "line", ["barrier.sync %r2, %r4;", "barrier.red.popc.u32 %r5, %r2, %r4, 1; add.u32 %r1, %r1, %r5;"]
)
def test_both_numbers_in_one_bank(arch: str, line: str) -> None:
    """LOP3 reads number and number of threads from one bank, so the shifted value in between would go to another register."""
    text = BARRIERS.format(arch=arch, barriers="\n".join([line] * 5))
    orias.compile(text, arch=arch, capsules="require")
