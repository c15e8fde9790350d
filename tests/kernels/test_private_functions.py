"""Functions that are only called by name keep no registers for their callers; the callers know what they change."""

import numpy as np
import pytest

import orias
import orias.sim as sim
from tests.rotation import with_later

ROUNDS = 12
FUNCTION = """
.func (.param .b32 r) NAME(.param .b32 x, .param .b32 n) {
  .reg .b32 %v<40>; .reg .b32 %t; .reg .pred %p;
  ld.param.b32 %v0, [x];
BODY
  st.param.b32 [r], %v0;
  ret;
}
"""
CALL = """  {{ .param .b32 a; .param .b32 b; .param .b32 q; st.param.b32 [a], {0}; st.param.b32 [b], {1};
    call (q), {2}, (a, b); ld.param.b32 {0}, [q]; }}
"""


def wide(more: str = "") -> str:
    """Many values at once, so that registers above R16 are wanted, then their sum on top of `more`."""
    lines = [f"  mad.lo.s32 %v{k + 1}, %v0, {k + 3}, {k};" for k in range(24)] + [more]
    return "\n".join(lines + [f"  xor.b32 %v0, %v0, %v{k + 1}; mul.lo.s32 %v0, %v0, 3;" for k in range(24)])


def mixed(x: int) -> int:
    values = [x * (k + 3) + k for k in range(24)]
    for v in values:
        x = (x ^ v) * 3 & 0xFFFFFFFF
    return x


RECUR = f"""  ld.param.b32 %t, [n];
  setp.eq.s32 %p, %t, 0;
  @%p bra done;
  sub.s32 %t, %t, 1;
  mov.b32 %v1, %t;
{CALL.format("%v0", "%t", "leaf")}{CALL.format("%v0", "%v1", "recur")}
  add.s32 %v0, %v0, %v1;
done:
"""
PTX = (
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    + ".func (.param .b32 r) recur(.param .b32 x, .param .b32 n);\n"
    + FUNCTION.replace("NAME", "leaf").replace("BODY", wide())
    + FUNCTION.replace("NAME", "middle").replace("BODY", wide(CALL.format("%v0", "%v1", "leaf")))
    + FUNCTION.replace("NAME", "pointed").replace("BODY", wide(CALL.format("%v0", "%v1", "middle")))
    + FUNCTION.replace("NAME", "recur").replace("BODY", RECUR)
    + """
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<6>; .reg .b32 %v<8>; .reg .pred %p;
  ld.param.u64 %rd1, [out];
  mov.u32 %v1, %tid.x;
  mul.wide.u32 %rd2, %v1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mul.lo.s32 %v0, %v1, 77;
"""
    + CALL.format("%v0", "%v1", "middle")
    + "  mov.u64 %rd4, pointed;\n  and.b32 %v2, %v1, 3;\n"
    + CALL.format("%v0", "%v2", "recur")
    + CALL.format("%v0", "%v2", "%rd4")
    .replace("(a, b);", "(a, b), shape;")
    .replace("  {", "  { shape: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);", 1)
    + "  add.s32 %v0, %v0, %v2; add.s32 %v0, %v0, %v1;\n  st.global.b32 [%rd3], %v0;\n  ret;\n}\n"
)


def middle(x: int, first: int) -> int:
    """`first`: how to get the value that the products are mixed into."""
    for v in [x * (k + 3) + k for k in range(24)]:
        first = (first ^ v) * 3 & 0xFFFFFFFF
    return first


def recur(x: int, n: int) -> int:
    return x if n == 0 else recur(mixed(x), n - 1) + n - 1 & 0xFFFFFFFF


def wanted(t: int) -> int:
    x = t * 77
    x = middle(x, mixed(x))
    x = recur(x, t & 3)
    x = middle(x, middle(x, mixed(x)))
    return x + (t & 3) + t & 0xFFFFFFFF


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_90"], "private_functions"))
@pytest.mark.parametrize("opt", [0, 3])
def test_results(opt: int, arch: str) -> None:
    cubin = orias.compile(PTX, arch=arch, opt_level=opt, self_check=True)
    out = np.zeros(32, np.uint32)
    sim.load(cubin.data).launch("k", 1, 32, [out])
    assert out.tolist() == [wanted(t) for t in range(32)]
    if opt:
        # Only what may be reached through the pointer or again before it returns keeps registers.
        spills = {name.split("$")[-1]: info.spill_stores for name, info in cubin.functions.items()}
        assert not spills["leaf"] and not spills["middle"]
        assert spills["pointed"] and spills["recur"]


def test_under_a_register_limit_callers_find_room() -> None:
    """Values live across a call: where the function would take all registers, it keeps some for its callers instead."""
    values = "".join(f"  mul.lo.s32 %w{k}, %v1, {k + 5};\n" for k in range(6))
    sums = "".join(f"  add.s32 %v0, %v0, %w{k};\n" for k in range(6))
    text = PTX.replace("  mul.lo.s32 %v0, %v1, 77;\n", "  .reg .b32 %w<6>;\n  mul.lo.s32 %v0, %v1, 77;\n" + values)
    text = text.replace("  st.global.b32 [%rd3], %v0;", sums + "  st.global.b32 [%rd3], %v0;")
    cubin = orias.compile(text, arch="sm_80", maxrregcount=24, self_check=True)
    assert cubin.kernels["k"].registers <= 24
    out = np.zeros(32, np.uint32)
    sim.load(cubin.data).launch("k", 1, 32, [out])
    assert out.tolist() == [wanted(t) + t * sum(range(5, 11)) & 0xFFFFFFFF for t in range(32)]
