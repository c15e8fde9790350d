"""The work of ConvertToUniformReg grows with the code: conditions that share one long chain cost no more each than others."""

import cProfile
import pstats

import orias
from orias.passes import uniform_chains

HEAD = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd;
ld.param.u64 %rd, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %r1; mov.u32 %r4, %tid.x;
"""
STEP = """mad.lo.s32 %r2, %r2, {0}, %r1; add.s32 %r3, %r2, %r4; st.global.v4.u32 [%rd], {{%r2, %r2, %r3, %r2}};
setp.lt.s32 %p, %r2, {0}; @%p bra L{0}; bar.sync 0; st.global.u32 [%rd], %r2; L{0}:
"""


def calls(conditions: int) -> int:
    """Calls of functions of the pass when a chain with so many conditions is compiled."""
    text = HEAD + "".join(STEP.format(3 + k) for k in range(conditions)) + "ret;\n}\n"
    profile = cProfile.Profile()
    profile.runcall(orias.compile, text, arch="sm_100a", opt_level=3)
    counts = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(entry[1] for (file, _, _), entry in counts.items() if file == uniform_chains.__file__)


def test_conditions_of_one_chain() -> None:
    assert calls(80) <= 2.6 * calls(40)
