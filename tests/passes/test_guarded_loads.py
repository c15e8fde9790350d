"""Loads of memory that nobody writes (``ld.global.nc``) run only where the program has them: elsewhere their address may be illegal."""

import pytest

import orias
from orias.tools.audit.audit_kernel import EQUAL
from tests.validate.test_audit import HEAD, audited

START = (
    HEAD
    + """.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {
.reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %q<3>;
ld.param.u64 %d0, [p];
ld.param.u64 %d1, [q];
ld.param.u32 %r1, [n];
mov.u32 %r0, %tid.x;
mul.wide.u32 %d3, %r0, 4;
add.s64 %d4, %d1, %d3;
"""
)
"""%d4: the thread's own word of q."""
FAR = "sub.s32 %r2, %r0, %r1;\nmul.wide.u32 %d5, %r2, 4;\nadd.s64 %d6, %d0, %d5;\n"
"""%d6: a word of p, far beyond the memory where the thread's number is below n."""
ARM = (
    START
    + """setp.ge.u32 %q0, %r0, %r1;
@%q0 bra Inside;
st.global.u32 [%d4], 0;
bra Done;
Inside:
"""
    + FAR
    + """ld.global.nc.u32 %r3, [%d6];
st.global.u32 [%d4], %r3;
Done:
ret; }
"""
)
LOOP = (
    START
    + FAR
    + """setp.lt.u32 %q0, %r0, %r1;
mov.u32 %r4, 0;
Again:
@%q0 bra Next;
ld.global.nc.u32 %r3, [%d6];
st.global.u32 [%d4], %r3;
Next:
add.u32 %r4, %r4, 1;
setp.lt.u32 %q1, %r4, 3;
@%q1 bra Again;
ret; }
"""
)
LEAVES = (
    START
    + FAR
    + """ld.global.u32 %r4, [%d4];
mov.u32 %r5, %r4;
mov.u32 %r6, %r0;
and.b32 %r7, %r4, 1;
setp.ne.u32 %q1, %r7, 0;
@%q1 bra Even;
"""
    + "mad.lo.u32 %r4, %r4, %r5, 3;\nxor.b32 %r4, %r4, %r6;\n" * 13
    + """Even:
setp.lt.u32 %q0, %r0, %r1;
@%q0 exit;
ld.global.u32 %r3, [%d6];
add.u32 %r3, %r3, %r4;
st.global.u32 [%d4], %r3;
ret; }
"""
)
ROUNDS = (
    START
    + """mov.u32 %r4, 0;
st.global.u32 [%d4], 7;
Again:
setp.ge.u32 %q0, %r0, %r1;
@%q0 exit;
mul.wide.u32 %d5, %r0, 4;
add.s64 %d6, %d0, %d5;
ld.global.u32 %r3, [%d6];
add.u32 %r4, %r4, %r3;
add.u32 %r0, %r0, 100000;
setp.ne.u32 %q1, %r0, 3;
@%q1 bra Again;
st.global.u32 [%d4], %r4;
ret; }
"""
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("text", [ARM, LOOP, LEAVES, ROUNDS], ids=["arm", "loop", "leaves", "rounds"])
@pytest.mark.parametrize("level", [1, 3])
def test_addresses_that_a_condition_makes_legal(text: str, level: int) -> None:
    """Where the condition does not hold the address is far beyond the memory."""
    data = orias.compile(text, arch="sm_80", opt_level=level).data
    assert audited(text, data)[1].outcome == EQUAL
