"""The list scheduler: what reaches each read must not change, memory keeps its order, latency gets hidden."""

import random

import pytest

from orias.analysis.access import accesses
from orias.analysis.liveness import liveness
from orias.isa.op import F_READ, F_WRITE
from orias.isa.operand import PT, imm_value, payload
from orias.options import Options
from orias.ori.ir import Func, Inst
from orias.ori.text import dump, parse
from orias.ori.verify import verify
from orias.schedule.list import schedule_physical, schedule_virtual
from orias.schedule.plans import block_pressure
from orias.schedule.scheduling import post_ra
from tests.effort import lines_executed
from tests.schedule.test_scoreboard import random_function


def flow(insts: list[Inst]) -> tuple[dict[int, list[object]], dict[int, object]]:
    """Per instruction what it reads from whom, and who wrote each register last (guarded writers add up)."""
    last: dict[int, tuple[int, ...]] = {}
    seen: dict[int, list[object]] = {}
    for inst in insts:
        a = accesses(inst)
        seen[inst.uid] = sorted((r, last.get(r >> 8, ())) for r in a.reads)
        for w in a.writes:
            unit = w >> 8
            last[unit] = (*last.get(unit, ()), inst.uid) if inst.guard != PT else (inst.uid,)
    return seen, dict(last)


def memory(insts: list[Inst], space: tuple[str, ...]) -> list[object]:
    """For each store of a space the set of loads before it, and the stores in order.

    Left out are loads at another offset of the same address: no access here goes beyond the next offset.
    """
    out: list[object] = []
    loads: dict[int, tuple[object, int]] = {}
    written: dict[int, int] = {}
    for i in insts:
        if i.op.base in space:
            base = payload(i.src[1])
            at, offset = (base, written.get(base), written.get(base + 1)), imm_value(i.src[3])
            if i.op.flags & F_WRITE:
                out.append((i.uid, frozenset(n for n, (a, o) in loads.items() if a != at or o == offset)))
            elif i.op.flags & F_READ:
                loads[i.uid] = at, offset
        for w in accesses(i).writes:
            written[w >> 8] = i.uid
    return out


@pytest.mark.parametrize("sm", ["sm_75", "sm_80", "sm_90"])
def test_physical_order_keeps_meaning(sm: str) -> None:
    rng = random.Random("order" + sm)
    moved = 0
    for _ in range(60):
        fn = parse(random_function(rng, sm))
        before = {b.id: list(b.insts) for b in fn.blocks}
        schedule_physical(fn)
        for b in fn.blocks:
            old = before[b.id]
            moved += [i.uid for i in old] != [i.uid for i in b.insts]
            assert sorted(i.uid for i in old) == sorted(i.uid for i in b.insts)
            assert flow(old) == flow(b.insts), dump(fn)
            for space in (("LDG", "STG"), ("LDS", "STS")):
                assert memory(old, space) == memory(b.insts, space)
    assert moved > 40


def ops(fn: Func, block: int = 0) -> list[str]:
    return [i.op.base for i in fn.blocks[block].insts]


LOADS = """\
.func k sm_90 entry ssa
b0:
  v256:R2 = LDC.64 c[0x0][0x210], RZ
  v257:R = LDG.E -, v256, URZ, 0x0
  v258:R = IADD3 v257, 0x1, RZ
  STG.E -, v256, URZ, 0x0, v258
  v259:R = LDG.E -, v256, URZ, 0x4
  v260:R = IADD3 v259, 0x1, RZ
  STG.E -, v256, URZ, 0x4, v260
  EXIT
"""


def test_loads_rise_over_disjoint_stores() -> None:
    fn = parse(LOADS)
    schedule_virtual(fn)
    assert verify(fn) == []
    assert ops(fn) == ["LDC", "LDG", "LDG", "IADD3", "IADD3", "STG", "STG", "EXIT"] or ops(fn) == [
        "LDC", "LDG", "LDG", "IADD3", "STG", "IADD3", "STG", "EXIT",
    ]  # fmt: skip


def test_loads_stay_behind_overlapping_stores() -> None:
    fn = parse(LOADS.replace("URZ, 0x4\n", "URZ, 0x2\n"))
    schedule_virtual(fn)
    assert ops(fn) == ["LDC", "LDG", "IADD3", "STG", "LDG", "IADD3", "STG", "EXIT"]


def test_fences_hold_memory() -> None:
    fn = parse(LOADS.replace("  v259:R = LDG", "  MEMBAR.SC.GPU\n  v259:R = LDG"))
    schedule_virtual(fn)
    assert ops(fn) == ["LDC", "LDG", "IADD3", "STG", "MEMBAR", "LDG", "IADD3", "STG", "EXIT"]


def test_calls_hold_everything() -> None:
    text = """\
.func k sm_90 entry ssa
b0:
  v256:R = S2R SR_TID.X
  R4 = copy v256
  R4 = call R4 ; call f abi ffff 7f 0 7f 3f
  v257:R = copy R4
  v258:R = IADD3 v256, 0x1, RZ
  v259:R = IADD3 v258, v257, RZ
  STG.E -, RZ, URZ, 0x0, v259
  EXIT
"""
    fn = parse(text)
    schedule_virtual(fn)
    assert ops(fn) == ["S2R", "copy", "call", "copy", "IADD3", "IADD3", "STG", "EXIT"]


def test_loop_counter_stays_behind_its_uses() -> None:
    """The new value must not be made before the last read of the old one: they share a register."""
    fn = parse(
        """\
.func k sm_90 entry ssa
b0: -> b1
  v250x = MOV 0x0
b1: -> b2 b1
  v256:R = phi RZ, v260
  v257:R = LDS -, v256, URZ, 0x0
  v258:R = IADD3 v257, v256, RZ
  STS -, v258, URZ, 0x0, v256
  v260:R = IADD3 v256, 0x4, RZ
  v261:P, PT = ISETP.LT.AND v260, 0x80, PT
  @v261 BRA
b2:
  EXIT
""".replace("v250x", "v262:R")
    )
    schedule_virtual(fn)
    body = fn.blocks[1].insts
    made = next(k for k, i in enumerate(body) if i.dst and payload(i.dst[0]) == 260)
    assert all(k <= made for k, i in enumerate(body) if any(payload(s) == 256 for s in i.src))


@pytest.mark.parametrize(
    ("made", "sum_"),
    [
        ([259], "v259:R2 = IADD.64 v256, 0x10\n  v260:R2 = copy v259"),
        ([259, 261], "v259:R, v262:P = IADD3 v256.0, 0x10, RZ\n  v261:R = IADD3.X v256.1, RZ, RZ, v262, !PT\n  v260:R2 = pack v259, v261"),
    ],
)  # fmt: skip
def test_loop_address_stays_behind_its_uses(made: list[int], sum_: str) -> None:
    """So do the sum, or its words, that a copy or pack hands to the phi."""
    fn = parse(
        f"""\
.func k sm_120 entry ssa
b0: -> b1
  v250x = S2R SR_TID.X
  v251x = pack v263, 0x0
b1: -> b2 b1
  v256:R2 = phi v264, v260
  v257:R = phi v263, v258
  v265:R = IMAD v257, v263, RZ
  v266:R = IMAD v265, v263, RZ
  STG.E -, v256, URZ, 0x0, v266
  v258:R = IADD3 v257, 0x4, RZ
  {sum_}
  v267:P, PT = ISETP.LT.AND v258, 0x80, PT
  @v267 BRA
b2:
  EXIT
""".replace("v250x", "v263:R").replace("v251x", "v264:R2")
    )
    schedule_virtual(fn)
    body = fn.blocks[1].insts
    store = next(k for k, i in enumerate(body) if i.op.base == "STG")
    assert [k > store for k, i in enumerate(body) if i.dst and payload(i.dst[0]) in made] == [True] * len(made)


def test_values_changed_by_a_conditional_block_stay_behind_their_uses() -> None:
    """Each new value replaces the one of the way around the block, which the sum before it still reads."""
    count = 6
    sums = "\n".join(
        f"  v{300 + k}:R = {'FMUL v257,' if k else 'MUFU.RCP'} v{260 + k}\n  v{320 + k}:R = FFMA v258, v{261 + k}, v{300 + k}"
        for k in range(count)
    )
    loads = "\n".join(f"  v{260 + k}:R = LDS -, v256, URZ, {hex(4 * k)}" for k in range(count + 1))
    phis = "\n".join(f"  v{340 + k}:R = phi v{260 + k}, v{320 + k}" for k in range(count))
    stores = "\n".join(f"  STS -, v256, URZ, {hex(4 * k)}, v{340 + k}" for k in range(count))
    fn = parse(
        f"""\
.func k sm_90 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v257:R = S2R SR_CTAID.X
  v258:R = S2R SR_CTAID.Y
{loads}
  v259:P, PT = ISETP.LT.AND v256, 0x5, PT
  @v259 BRA b2
b1: -> b2
{sums}
b2: ; preds b0 b1
{phis}
{stores}
  EXIT
"""
    )
    schedule_virtual(fn)
    body = fn.blocks[1].insts
    made = {payload(i.dst[0]): k for k, i in enumerate(body)}
    for j in range(count):
        reads = [k for k, i in enumerate(body) if any(payload(s) == 260 + j for s in i.src)]
        assert len(reads) == 1 + (j > 0)
        assert all(k <= made[320 + j] for k in reads)


def test_level_zero_keeps_the_order() -> None:
    rng = random.Random(3)
    fn = parse(random_function(rng, "sm_90"))
    before = [i.uid for i in fn.insts()]
    post_ra(fn, Options(opt_level=0))
    assert [i.uid for i in fn.insts() if i.uid in before] == before


def test_pressure_stays_within_reason() -> None:
    """Address arithmetic of many guarded copies must not be piled up before them."""
    lines = [".func k sm_80 entry ssa", "b0:", "  v256:R = S2R SR_TID.X", "  v257:R2 = copy c[0x0][0x160]"]
    n = 300
    for k in range(24):
        a, p, x = n, n + 1, n + 2
        n += 4
        lines += [
            f"  v{a + 3}:R = IADD3 v256, {k + 1:#x}, RZ",
            f"  v{a}:R2 = IMAD.WIDE v{a + 3}, 0x4, v257",
            f"  v{p}:P, PT = ISETP.GE.AND v{a + 3}, 0x64, PT",
            f"  @v{p} v{x}:R = LDG.E -, v{a}, URZ, 0x0",
            f"  @v{p} STG.E -, v{a}, URZ, 0x80, v{x}",
        ]
    fn = parse("\n".join([*lines, "  EXIT", ""]))
    schedule_virtual(fn)
    assert verify(fn) == []
    lv = liveness(fn)
    assert block_pressure(fn, fn.blocks[0], lv) <= 30
    live = 0
    top = 0
    for i in reversed(fn.blocks[0].insts):
        for d in i.dst:
            live &= ~(1 << payload(d))
        if payload(i.guard) >= 256:
            live |= 1 << payload(i.guard)
        top = max(top, live.bit_count())
    assert top <= 7


def test_effort_grows_with_the_arms_of_a_switch() -> None:
    """Four times the blocks before one with a phi must not take much more than four times the work."""

    def cost(count: int) -> int:
        arms = "".join(
            f"b{k}: -> b{count + 1}\n  v{300 + k}:R = IADD3 v256, 0x{k:x}, RZ\n" for k in range(1, count + 1)
        )
        text = (
            ".func k sm_80 entry ssa\nb0: -> " + " ".join(f"b{k}" for k in range(1, count + 1))
            + f"\n  v256:R = S2R SR_TID.X\n{arms}b{count + 1}:\n  v257:R = phi "
            + ", ".join(f"v{300 + k}" for k in range(1, count + 1)) + "\n  EXIT\n"
        )  # fmt: skip
        fn = parse(text)
        return lines_executed(lambda: schedule_virtual(fn))

    cost(20)
    assert cost(1200) <= 5 * cost(300)
