"""The order before allocation: how many loads are under way, and what the choice between two occupancies looks at."""

import numpy as np
import pytest

import orias
from orias.analysis.liveness import liveness
from orias.ori.decisions import ORDER
from orias.ori.ir import Block
from orias.ori.text import parse
from orias.perf.kernel_steps import kernels
from orias.perf.measure import costs
from orias.perf.resident_blocks import occupancy
from orias.perf.trace import record
from orias.schedule.arrivals import Arrivals
from orias.schedule.plans import most_live_words, plans
from orias.sim.core.image import load
from orias.target.register_steps import STEPS, most_words, step_that_holds, step_words
from tests.kernels.varied import varied_cases


def sums(loads: int) -> str:
    """A loop whose turn loads so many words far apart and adds them up one after another."""
    body = "\n".join(f"ld.global.f32 %x, [%p+{4096 * k}];\nfma.rn.f32 %s, %x, %s, %x;" for k in range(loads))
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {{
  .reg .pred %c; .reg .b32 %n, %i; .reg .b64 %p, %q; .reg .f32 %x, %s;
  ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];
  mov.b32 %i, 0; mov.f32 %s, 0f3F000000;
top:
  {body}
  add.s64 %p, %p, 4; add.s32 %i, %i, 1;
  setp.lt.s32 %c, %i, %n;
  @%c bra top;
  st.global.f32 [%q], %s;
  ret;
}}
"""


def products(pairs: int) -> str:
    """A loop whose turn loads so many pairs of four words each and adds up their products."""
    body = "\n".join(
        f"ld.global.v4.f32 {{%a0, %a1, %a2, %a3}}, [%p+{512 * k}];\nld.global.v4.f32 {{%b0, %b1, %b2, %b3}}, [%q+{512 * k}];\n"
        + "\n".join(f"fma.rn.f32 %s, %a{j}, %b{j}, %s;" for j in range(4))
        for k in range(pairs)
    )
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {{
  .reg .pred %c; .reg .b32 %n, %i; .reg .b64 %p, %q; .reg .f32 %a<4>, %b<4>, %s;
  ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x; mov.f32 %s, 0f3F000000;
top:
  {body}
  add.s64 %p, %p, 2048; add.s64 %q, %q, 2048; add.s32 %i, %i, 128;
  setp.lt.s32 %c, %i, %n;
  @%c bra top;
  st.global.f32 [%q], %s;
  ret;
}}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize(("loads", "least"), [(8, 8), (16, 14), (48, 16)])
def test_loads_are_under_way_together(arch: str, loads: int, least: int) -> None:
    data = orias.compile(sums(loads), arch=arch).data
    code = kernels(data)[0]
    x, y = np.linspace(0, 1, 1024 * loads, dtype="f4"), np.zeros(1, "f4")
    run = record(load(data), code, (1,), (32,), [x, y, np.uint32(3)])
    far = next(c for c in costs(run, occupancy(code.profile, code.registers, 32, 0)) if c.far)
    assert max(w.under_way for w in far.played.waits) >= least
    assert code.registers <= STEPS[STEPS.index(32) + 8]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize("loads", [8, 48])
def test_the_finished_copy_is_what_the_rest_of_the_phases_makes(arch: str, loads: int) -> None:
    """A compile takes the copy of the order chosen; one whose phases are watched runs them to the end."""
    watched = orias.compile(sums(loads), arch=arch, remarks=True)
    assert any(r.kind == ORDER for r in watched.remarks)
    assert orias.compile(sums(loads), arch=arch).data == watched.data


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120"])
def test_a_step_that_holds_no_more_vectors_is_not_the_last_one(arch: str) -> None:
    """Eight loads of four words are under way together with 48 registers, not with 40."""
    code = kernels(orias.compile(products(4), arch=arch).data)[0]
    assert 40 < code.registers <= 48


def test_more_warps_are_not_preferred_to_a_much_shorter_time_of_one() -> None:
    def registers(percent: int) -> int:
        knobs = {"SchedRegPreference": 60, "SchedRegPreferenceAlone": percent}
        return kernels(orias.compile(products(4), arch="sm_100a", knobs=knobs).data)[0].registers

    assert registers(1000) <= 32 < registers(40)


def test_steps_of_occupancy() -> None:
    assert step_words(3, most_words(32)) == most_words(32)
    assert step_words(most_words(32) + 1, most_words(32)) == most_words(40)
    assert step_words(300, most_words(32)) == 300
    assert step_that_holds(most_words(32)) == 0
    assert step_that_holds(most_words(32) + 1) == step_that_holds(29) == 32
    assert step_that_holds(30) == 0


@pytest.mark.parametrize(("words", "filled"), [(28, 32), (29, 32), (30, 0), (37, 40)])
def test_an_order_may_fill_a_step_of_registers(words: int, filled: int) -> None:
    """Where the order as given has no more words than a step holds, it is tried; alignment is expected to waste two."""
    loads = "".join(f"  v{300 + n}:R = LDG.E v256, v257, URZ, 0x{4 * n:x}\n" for n in range(words - 2))
    stores = "".join(f"  STG.E v256, v257, URZ, 0x{4 * n:x}, v{300 + n}\n" for n in range(words - 2))
    fn = parse(
        ".func k sm_90 entry ssa\nb0:\n  v256:UR2 = copy c[0x0][0x208]\n  v257:R2 = copy c[0x0][0x210]\n"
        f"{loads}{stores}  EXIT\n"
    )
    assert most_live_words(fn, liveness(fn)) == words
    found = [p for p in plans(fn) if p.words == words and not p.sink]
    assert [p.registers for p in found] == ([filled] if filled else [])


def test_a_result_that_arrives_in_a_later_block() -> None:
    first, second, third = Block(0), Block(1), Block(2)
    second.preds, third.preds = [first], [second]
    a = Arrivals(6)
    a.enter(first)
    a.passed(20, set(), {7: 280, 9: 3})
    a.leave(first)
    a.enter(second)
    assert a.now == {7: 274}
    a.passed(100, {9}, {})
    assert a.now == {7: 174}
    a.leave(second)
    a.enter(third)
    a.passed(10, {7}, {})
    assert a.now == {}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("knobs", "registers"),
    [
        ({}, 56),
        ({"SchedStepRetry": 0}, 59),
        ({"SchedStepWords": 0}, 59),
        ({"SchedStepGain": 1_000}, 59),
        ({"SchedStepWork": 0}, 59),
    ],
)
def test_values_are_computed_again_for_more_warps(knobs: dict[str, int], registers: int) -> None:
    data = orias.compile(varied_cases.source("layer_norm_grad"), arch="sm_90a", knobs=knobs).data
    assert kernels(data)[0].registers == registers
