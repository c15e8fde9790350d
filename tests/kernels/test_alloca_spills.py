"""Functions whose stack pointer moves (alloca) and that spill registers: words in the frame have an address of their own."""

import numpy as np
import pytest

from orias.compiler import compile_text
from orias.options import Options
from tests.device import load
from tests.rotation import with_later

COUNT = 40
MASK = 0xFFFFFFFF
LOADS = "\n".join(f"ld.global.u32 %q{k}, [%a+{4 * k}];" for k in range(COUNT))
SUMS = "\n".join(f"add.u32 %s, %s, %q{COUNT - 1 - k};\nmul.lo.u32 %s, %s, 3;" for k in range(COUNT))
REGISTERS = ".reg .b32 %q<64>, %s, %n, %t; .reg .b64 %a, %o, %d<4>; .reg .pred %p;"
CALL = """{ .param .b64 x; .param .b32 y; .param .b32 z; st.param.b64 [x], %a; st.param.b32 [y], %t; call.uni (z), g, (x, y);
ld.param.b32 %t, [z]; add.u32 %s, %s, %t; }"""
TEXT = f"""
.version 9.0
.target sm_80
.address_size 64
.func (.param .b32 r) g(.param .b64 a, .param .b32 n) {{
{REGISTERS}
ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; cvt.u64.u32 %d1, %n; alloca.u64 %d2, %d1, 16; st.local.u32 [%d2], %n;
mov.u32 %s, 7;
{LOADS}
setp.lt.u32 %p, %n, 20; @%p bra END; sub.u32 %t, %n, 8;
{CALL}
END:
{SUMS}
ld.local.u32 %t, [%d2]; add.u32 %s, %s, %t;
st.param.b32 [r], %s; ret; }}
.visible .entry k(.param .u64 p, .param .u64 o) {{
{REGISTERS}
ld.param.u64 %a, [p]; ld.param.u64 %o, [o];
mov.u32 %n, %tid.x; mul.wide.u32 %d1, %n, 4; add.s64 %o, %o, %d1; and.b32 %n, %n, 7; add.u32 %n, %n, 16;
cvt.u64.u32 %d1, %n; alloca.u64 %d2, %d1, 16; st.local.u32 [%d2+4], %n; mov.u32 %s, 1; mov.u32 %t, %n;
{LOADS}
{CALL}
{SUMS}
ld.local.u32 %t, [%d2+4]; add.u32 %s, %s, %t;
st.global.u32 [%o], %s; ret; }}
"""


def sums(start: int, given: np.ndarray) -> int:
    for value in given[::-1]:
        start = (start + int(value)) * 3 & MASK
    return start


def called(n: int, given: np.ndarray) -> int:
    return sums(7 + (called(n - 8, given) if n >= 20 else 0), given) + n & MASK


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("limit", [24, 40])
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "alloca spills"))
def test_frame_of_a_moving_stack(arch: str, limit: int, level: int) -> None:
    options = Options(arch, level)
    options.maxrregcount = limit
    options.self_check = True
    cubin = compile_text([("k.ptx", TEXT.replace("sm_80", arch))], options)
    assert cubin.kernels["k"].spill_stores > 50
    given = np.random.default_rng(1).integers(0, 1 << 32, COUNT, dtype=np.uint32)
    out = np.zeros(64, np.uint32)
    load(cubin.data).launch("k", (1,), (64,), [given, out])
    n = [t % 8 + 16 for t in range(64)]
    np.testing.assert_array_equal(out, np.array([sums(1 + called(x, given), given) + x & MASK for x in n], np.uint32))
