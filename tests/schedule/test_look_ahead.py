"""What follows a piece of code does not wait for it: conditions of branches, targets of calls; and orders that meet steps of occupancy."""

import pytest

import orias
from orias.options import Options
from orias.ori.ir import Func
from orias.ori.text import dump, parse
from orias.perf.kernel_steps import kernels
from orias.pipeline.choose_order import schedule_by_model
from orias.pipeline.functions import _up_to_post_ra
from orias.schedule.list import schedule_physical
from orias.schedule.plans import Plan, wider_plans
from orias.schedule.scheduling import post_ra

PRINTS = """.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 status) vprintf (.param .b64 text, .param .b64 values);
.global .align 1 .b8 text[4] = {72, 105, 10, 0};
.entry k(.param .u64 p, .param .u32 n) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %q;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
L:
    mov.u64 %rd2, text;
    { .param .b64 a; .param .b64 b; .param .b32 c;
      st.param.b64 [a], %rd2; st.param.b64 [b], 0;
      call.uni (c), vprintf, (a, b); ld.param.b32 %r2, [c]; }
    st.global.u32 [%rd1], %r2;
    add.s32 %r1, %r1, -1; setp.gt.s32 %q, %r1, 0; @%q bra L;
    ret;
}
"""


def names(fn: Func) -> list[str]:
    return [line.strip().split(" ;")[0] for line in dump(fn).splitlines()[1:]]


def test_condition_comes_first() -> None:
    text = (
        ".func k sm_80 entry allocated\nb0: -> b1 b2\n  R5 = IADD3 R4, 0x1, RZ\n  R6 = IADD3 R4, 0x2, RZ\n"
        "  P0, PT = ISETP.EQ.AND R4, 0x0, PT\n  @P0 BRA b2\nb1:\n  EXIT\nb2:\n  EXIT\n"
    )
    fn = parse(text)
    schedule_physical(fn)
    assert names(fn)[1] == "P0, PT = ISETP.EQ.AND R4, 0x0, PT"


def listing(arch: str) -> list[str]:
    code = kernels(orias.compile(PRINTS, arch=arch, self_check=True).data)[0]
    return [code.text(k) for k in range(len(code.words))]


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_call_target_is_loaded_before_lepc(arch: str) -> None:
    found = listing(arch)
    call = next(k for k, t in enumerate(found) if "CALL" in t)
    target = found[call].split()[-1].rstrip(";")
    load = max(k for k, t in enumerate(found[:call]) if t.split()[0] == "LDC.64" and f" {target}," in t)
    assert load < next(k for k, t in enumerate(found) if "LEPC" in t)


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_uniform_registers_live_through_calls(arch: str) -> None:
    """UR36 and up are preserved (docs/facts/register-allocation.md): the descriptor is read once, before the loop."""
    found = listing(arch)
    reads = [k for k, t in enumerate(found) if t.split()[0] in ("ULDC.64", "LDCU.64")]
    assert len(reads) == 1
    assert reads[0] < next(k for k, t in enumerate(found) if "CALL" in t)


def loading(most_warps: int) -> Func:
    loads = "".join(f"  v{300 + n}:R = LDG.E v256, v257, URZ, 0x{4 * n:x}\n" for n in range(40))
    sums = "  v400:R = IADD3 v300, v301, RZ\n"
    sums += "".join(f"  v{399 + n}:R = IADD3 v{398 + n}, v{300 + n}, RZ\n" for n in range(2, 40))
    fn = parse(
        ".func k sm_90 entry ssa\nb0:\n  v256:UR2 = copy c[0x0][0x208]\n  v257:R2 = copy c[0x0][0x210]\n"
        f"{loads}{sums}  STG.E v256, v257, URZ, 0x0, v438\n  EXIT\n"
    )
    fn.most_warps = most_warps
    return fn


def test_small_blocks_leave_registers() -> None:
    """32 warps of an SM are 8 of a sub-partition, which have 64 registers each."""
    assert Plan(False, 59).words in [p.words for p in wider_plans(loading(32), Plan(False, 27))]
    assert 59 not in [p.words for p in wider_plans(loading(0), Plan(False, 27))]


def test_an_order_meets_its_step() -> None:
    fn = loading(32)
    options = Options()
    schedule_by_model(fn, options, lambda trial: _up_to_post_ra(trial, options))
    _up_to_post_ra(fn, options)
    post_ra(fn, options)
    assert fn.reg_count <= 64
